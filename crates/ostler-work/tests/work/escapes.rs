//! Attempts to get out of the sandbox, each with namespaces and without.

use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use ostler_testkit::wait::until;
use ostler_work::End;
use ostler_work::sandbox::Containment;

use crate::support::waiting;
use crate::world::{reachable, worlds};

#[tokio::test]
async fn secrets_cannot_be_read() {
    for world in worlds().await {
        symlink(world.home.path().join("secret"), world.project.path("link")).unwrap();
        symlink(world.home.path(), world.project.path("linked-home")).unwrap();
        symlink("../../../../../../../..", world.project.path("up")).unwrap();
        let home = world.home.path().display();
        let files = format!(
            "$secret, 'link', 'linked-home/secret', \"up$secret\", \"/proc/self/root$secret\", \"/proc/$pid/root$secret\",
             \"/proc/$pid/cwd/../../../../../..$secret\", \"../../..$secret\", '{home}/./secret', \"/proc/1/root$secret\""
        );
        world
            .attempt(&format!(
                "for $file ({files}) {{ print \"ESCAPED $file\" if open(F, $file) && <F> =~ /the secret/; }} print 'tried'"
            ))
            .await;
        world
            .attempt(
                "print 'ESCAPED' if opendir(D, $outside) && grep /secret/, readdir D;
                 print 'ESCAPED link' if link($secret, 'stolen') && open(F, 'stolen');
                 print 'ESCAPED rename' if rename($secret, 'stolen');
                 for $file ('environ', 'mem', 'maps', 'fd', 'cmdline') {
                     print \"ESCAPED $file\" if open(F, \"/proc/$pid/$file\") && defined(<F>) && <F>;
                 }
                 for $file ('/etc/shadow', '/etc/sudoers', '/root', '/home', '/var/log', '/run') {
                     print \"ESCAPED $file\" if (-d $file) ? (opendir(D, $file) && readdir D) : open(F, $file);
                 }
                 print 'tried'",
            )
            .await;
    }
}

#[tokio::test]
async fn there_is_no_network() {
    for world in worlds().await {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sockets = reachable();
        let stream_path = sockets.path().join("stream");
        let datagram_path = sockets.path().join("datagram");
        let stream = UnixListener::bind(&stream_path).unwrap();
        let datagram = UnixDatagram::bind(&datagram_path).unwrap();
        for path in [&stream_path, &datagram_path] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let (port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let paths = [stream_path.display(), datagram_path.display()];
        world
            .attempt(&format!(
                "use Socket; $to = sockaddr_in({port}, inet_aton('127.0.0.1'));
                 print 'ESCAPED tcp' if socket(S, PF_INET, SOCK_STREAM, 0) && connect(S, $to);
                 print 'ESCAPED udp' if socket(S, PF_INET, SOCK_DGRAM, 0)
                     && send(S, 'x', 0, sockaddr_in({udp_port}, inet_aton('127.0.0.1')));
                 print 'ESCAPED unix' if socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un('{}'));
                 print 'ESCAPED datagram' if socket(S, PF_UNIX, SOCK_DGRAM, 0) && send(S, 'x', 0, sockaddr_un('{1}'));
                 print 'ESCAPED pair' if socketpair(A, B, PF_UNIX, SOCK_DGRAM, 0) && send(A, 'x', 0, sockaddr_un('{1}'));
                 print 'ESCAPED netlink' if socket(S, 16, SOCK_RAW, 0);
                 print 'ESCAPED uring' if syscall(425, 8, $buffer) != -1;
                 print 'pair works ' if socketpair(A, B, PF_UNIX, SOCK_STREAM, 0) && syswrite(A, 'x') && sysread(B, $x, 1);
                 print 'tried'",
                paths[0], paths[1]
            ))
            .await;
        tcp.set_nonblocking(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        datagram.set_nonblocking(true).unwrap();
        assert!(tcp.accept().is_err() && stream.accept().is_err());
        assert!(udp.recv(&mut [0; 8]).is_err() && datagram.recv(&mut [0; 8]).is_err());
        let done = world
            .run(&["perl", "-e", "use Socket; print socketpair(A, B, PF_UNIX, SOCK_STREAM, 0) ? 'yes' : $!"])
            .await
            .unwrap();
        assert_eq!(done.stdout.text(), "yes");
    }
}

#[tokio::test]
async fn nothing_outside_is_changed() {
    for world in worlds().await {
        let outside = world.home.path().join("file");
        fs::write(&outside, "as it was").unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o666)).unwrap();
        fs::set_permissions(world.home.path(), fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&outside, world.project.path("link")).unwrap();
        symlink(world.home.path(), world.project.path("linked-home")).unwrap();
        let before = fs::metadata(&outside).unwrap();
        let tree = world.project.dir.path().display();
        world
            .attempt(&format!(
                "$file = \"$outside/file\";
                 for $target ($file, 'link', 'linked-home/new', '{tree}/a', '/usr/x', '/etc/passwd', '/tmp/../..//tmp/x/y') {{
                     for $how ('>', '>>', '+<') {{ print \"ESCAPED $how$target\" if open(F, $how, $target) && $target ne '/tmp/x'; }}
                 }}
                 print 'ESCAPED truncate' if truncate($file, 0);
                 print 'ESCAPED truncate call' if syscall(76, $file, 0) != -1;
                 print 'ESCAPED chmod' if chmod(0, $file) || chmod(0, 'link') || chmod(0, $outside);
                 print 'ESCAPED utime' if utime(1, 1, $file) || utime(1, 1, 'link');
                 print 'ESCAPED xattr' if syscall(188, $file, $name, $buffer, 1, 0) != -1;
                 print 'ESCAPED unlink' if unlink($file, 'linked-home/file', '{tree}/a');
                 print 'ESCAPED mkdir' if mkdir(\"$outside/dir\") || mkdir('linked-home/dir');
                 print 'ESCAPED symlink' if symlink('x', \"$outside/link\");
                 print 'ESCAPED rename in' if rename($file, 'mine');
                 print 'ESCAPED rename out' if rename('a', \"$outside/a\") || link('a', \"$outside/a\");
                 print 'tried'"
            ))
            .await;
        let after = fs::metadata(&outside).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "as it was");
        assert_eq!(
            (after.permissions(), after.modified().unwrap()),
            (before.permissions(), before.modified().unwrap())
        );
        let mut names: Vec<_> =
            fs::read_dir(world.home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["file", "secret"]);
        assert_eq!(fs::read_to_string(world.project.path("a")).unwrap(), "a at first\n");
    }
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    for world in worlds().await {
        // This process would die of the first of them.
        world
            .attempt(
                "for $target ($pid, getppid(), -1, -$pid) { for $signal (0, 9, 15) {
                     next if $target == getppid() && $signal; next if $target == -1;
                     print \"ESCAPED kill $target\" if $target != getppid() && kill($signal, $target);
                 } }
                 print 'ESCAPED tgkill' if syscall(234, $pid, $pid, 0) != -1;
                 print 'ESCAPED ptrace attach' if syscall(101, 16, $pid, 0, 0) != -1;
                 print 'ESCAPED ptrace seize' if syscall(101, 0x4206, $pid, 0, 0) != -1;
                 print 'ESCAPED traceme' if syscall(101, 0, 0, 0, 0) != -1;
                 print 'ESCAPED vm_readv' if syscall(310, $pid, 0, 0, 0, 0, 0) != -1;
                 print 'ESCAPED prlimit' if syscall(302, $pid, 7, 0, 0) != -1;
                 print 'ESCAPED priority' if syscall(141, 0, $pid, 19) != -1;
                 print 'ESCAPED setown' if open(F, '+<', 'a') && fcntl(F, 8, $pid);
                 print 'ESCAPED unshare' if syscall(272, 0x10000000) != -1;
                 print 'ESCAPED clone' if syscall(56, 0x10000000 | 17, 0, 0, 0, 0) > 0;
                 print 'ESCAPED clone3' if syscall(435, $buffer, 88) != -1;
                 print 'ESCAPED mount' if syscall(165, $name, $name, $name, 0, 0) != -1;
                 print 'ESCAPED keys' if syscall(250, 0, -3, 0) != -1;
                 print 'ESCAPED bpf' if syscall(321, 0, 0, 0) != -1;
                 print 'tried'",
            )
            .await;
        // To everybody there is: only what is in the sandbox hears it.
        let done = world.run(&["perl", "-e", "kill 9, -1; print 'still here'"]).await;
        assert!(done.is_ok(), "{done:?}");
    }
}

/// Processes with a word of their own among their arguments.
fn alive(word: &str) -> usize {
    let has_word = |pid: &String| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.windows(word.len()).any(|part| part == word.as_bytes()))
    };
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(has_word).count()
}

/// Waits until there are none, or some.
async fn until_alive(word: &str, wanted: bool) {
    let word = word.to_owned();
    let what = if wanted { "it has begun" } else { "nobody is left" };
    waiting(move || until(what, || ((alive(&word) > 0) == wanted).then_some(()))).await;
}

#[tokio::test]
async fn a_fork_bomb_is_contained_and_leaves_nothing() {
    for (number, mut world) in worlds().await.into_iter().enumerate() {
        world.sandbox.limits.processes = 50;
        world.sandbox.limits.wall = Duration::from_secs(4);
        let word = format!("bomb-{}-{number}", std::process::id());
        let bomb =
            "1 while defined fork; syswrite STDOUT, qq(full\\n); select undef, undef, undef, 100 while 1";
        let words = ["perl", "-e", bomb, &word];
        let run = world.run(&words);
        tokio::pin!(run);
        let mut most = 0;
        let done = loop {
            tokio::select! {
                done = &mut run => break done,
                () = tokio::time::sleep(Duration::from_millis(20)) => most = alive(&word).max(most),
            }
        };
        let done = done.unwrap();
        assert_eq!(done.end, End::TimedOut, "{done:?}");
        assert!(done.took < Duration::from_secs(20), "{:?}", done.took);
        // Without namespaces, those of other tests count too, and leave room when they end.
        let limit = if world.containment == Containment::Namespaces { 50 } else { 150 };
        assert!((10..=limit).contains(&most), "{most} processes {:?}", world.containment);
        assert!(done.stdout.text().contains("full"), "{done:?}");
        until_alive(&word, false).await;
    }
}

#[tokio::test]
async fn nobody_outlives_the_command() {
    for (number, world) in worlds().await.into_iter().enumerate() {
        let word = format!("ghost-{}-{number}", std::process::id());
        let ghost = format!(
            "perl -e 'use POSIX; $SIG{{HUP}} = $SIG{{TERM}} = q(IGNORE); setsid(); setpgrp(); exit if fork; setsid(); \
             close STDOUT; close STDERR; sleep 1000' {word} & sleep 0; echo left"
        );
        let done = world.sh(&ghost).await;
        assert_eq!((done.end, done.stdout.text()), (End::Exited(0), "left\n".into()), "{done:?}");
        until_alive(&word, false).await;
        // Nor one who stops waiting for it.
        let copy = world.sandbox.copy(world.project.dir.path()).await.unwrap();
        let words = ["perl", "-e", "print qq(up\\n); sleep 1000", &word].map(OsString::from);
        let run = world.sandbox.run(&copy, &words);
        tokio::select! {
            done = run => panic!("{done:?}"),
            () = until_alive(&word, true) => {}
        }
        until_alive(&word, false).await;
    }
}

#[tokio::test]
async fn the_report_cannot_be_forged() {
    for world in worlds().await {
        let forge = "for $p (1..3, getppid()) { for $fd (0, 3..9) { for $how ('>>', '+<') {
                         if (open(F, $how, \"/proc/$p/fd/$fd\")) { print F qq({\"exited\":0}\\n); print 'ESCAPED' if $p != $$ }
                     } } } exit 3";
        let done = world.run(&["perl", "-e", forge]).await.unwrap();
        assert_eq!(done.end, End::Exited(3), "{done:?}");
    }
}
