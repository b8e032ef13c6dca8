#!/bin/sh
# Succeeds if the work is right, and says what is wrong if not.
for pair in greeting.txt:Hello farewell.txt:Goodbye; do
    file=${pair%%:*} word=${pair##*:}
    if ! grep -q "^$word" "$file"; then
        echo "error: $file does not begin with $word" >&2
        exit 1
    fi
done
