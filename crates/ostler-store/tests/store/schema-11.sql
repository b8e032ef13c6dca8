-- What a release with schema 11 left behind: an agent at work with two messages waiting, one that has ended, and a run.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "counters" VALUES('delivery.attempted',4);
INSERT INTO "counters" VALUES('delivery.attempts',4);
INSERT INTO "counters" VALUES('delivery.elapsed_ms',798);
INSERT INTO "counters" VALUES('delivery.first_try',4);
INSERT INTO "counters" VALUES('delivery.sent',7);
INSERT INTO "counters" VALUES('delivery.submitted',4);
INSERT INTO "counters" VALUES('epoch',1);
CREATE TABLE events (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ms   INTEGER NOT NULL,
        session TEXT,
        event   TEXT NOT NULL,
        details TEXT NOT NULL
    ) STRICT;
INSERT INTO "events" VALUES(1,1795034745512,NULL,'daemon.started','{"epoch":1,"pid":16045}');
INSERT INTO "events" VALUES(6,1795034746419,'01a1f068-8db1-7558-b948-09136383d883','session.ended','{"how":"exited","reason":"exit status 4","signal":null,"status":4}');
INSERT INTO "events" VALUES(48,1795034752810,'session-b','session.ended','{"how":"killed","reason":"ended by signal 15","signal":15,"status":null}');
CREATE TABLE inputs (                            -- every write to a terminal, before it is made
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        seq     INTEGER NOT NULL,                    -- its number in the holder's ledger
        message TEXT NOT NULL,
        write   TEXT NOT NULL,                       -- raw, body, enter, clear or interrupt
        at_ms   INTEGER NOT NULL,
        done    INTEGER NOT NULL DEFAULT 0, echoes INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "inputs" VALUES('session-a',1,'a2-1','body',1795034751540,1,0);
INSERT INTO "inputs" VALUES('session-a',2,'a2-1','enter',1795034751708,1,0);
INSERT INTO "inputs" VALUES('session-b',1,'a4-1','body',1795034752444,1,0);
INSERT INTO "inputs" VALUES('session-b',2,'a4-1','enter',1795034752599,1,0);
CREATE TABLE messages (
        session    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        id         TEXT NOT NULL,
        seq        INTEGER NOT NULL,
        body       BLOB NOT NULL,
        state      TEXT NOT NULL,                   -- queued, written or failed
        attempts   INTEGER NOT NULL DEFAULT 0,
        evidence   TEXT NOT NULL DEFAULT '',
        created_ms INTEGER NOT NULL,
        settled_ms INTEGER, raw INTEGER NOT NULL DEFAULT 1, sender TEXT NOT NULL DEFAULT '', priority TEXT NOT NULL DEFAULT 'normal', mode TEXT NOT NULL DEFAULT 'when-idle', ack INTEGER NOT NULL DEFAULT 0, way TEXT NOT NULL DEFAULT 'message', command INTEGER NOT NULL DEFAULT 0, expires_ms INTEGER, proof TEXT NOT NULL DEFAULT 'queued', enters INTEGER NOT NULL DEFAULT 0, failure TEXT, submitted_ms INTEGER, acknowledged_ms INTEGER, escalated TEXT, mark TEXT, tries INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session, id)
    ) STRICT;
INSERT INTO "messages" VALUES('session-a','a2-1',1,X'6C6F6E67206F6E652021776F726B203930303030306D73','delivered',1,'ledger: every byte is in the terminal
screen: the composer shows it
screen: the composer was emptied; screen: the agent went to work',1795034751540,1795034751752,0,'','normal','when-idle',0,'message',0,NULL,'submitted',1,NULL,1795034751752,NULL,NULL,NULL,1,0);
INSERT INTO "messages" VALUES('session-a','a2-2',2,X'7365636F6E64206F66206132','queued',0,'',1795034751840,NULL,0,'','normal','when-idle',0,'message',0,NULL,'queued',0,NULL,NULL,NULL,NULL,NULL,0,0);
INSERT INTO "messages" VALUES('session-a','a2-3',3,X'7468697264206F66206132','queued',0,'',1795034751956,NULL,0,'','normal','when-idle',0,'message',0,1795124751956,'queued',0,NULL,NULL,NULL,NULL,NULL,0,0);
INSERT INTO "messages" VALUES('session-b','a4-1',1,X'61342073616964','delivered',1,'ledger: every byte is in the terminal
screen: the composer shows it
screen: the composer was emptied, and it stands among what was said',1795034752443,1795034752631,0,'','normal','when-idle',0,'message',0,NULL,'submitted',1,NULL,1795034752631,NULL,NULL,NULL,1,0);
CREATE TABLE "pending_context" (                         -- for sessions that could not be given them
        session   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        message   TEXT NOT NULL,                    -- what it should have come with
        at_ms     INTEGER NOT NULL,
        text      TEXT NOT NULL,
        in_file   INTEGER NOT NULL DEFAULT 0,       -- it is in the agent's instructions file, or about to be
        loaded_ms INTEGER, settled INTEGER NOT NULL DEFAULT 0,                          -- when the session asked for it
        PRIMARY KEY (session, message)
    ) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
        id             TEXT PRIMARY KEY,
        name           TEXT NOT NULL,
        command        TEXT NOT NULL,               -- JSON array: program and arguments, for people
        cwd            TEXT NOT NULL,
        cols           INTEGER NOT NULL,
        rows           INTEGER NOT NULL,
        dir            TEXT NOT NULL,
        created_ms     INTEGER NOT NULL,
        pid            INTEGER,
        stop_requested INTEGER NOT NULL DEFAULT 0,
        ending         TEXT,                        -- exited, lost or failed; NULL while it lives
        status         INTEGER,
        signal         INTEGER,
        reason         TEXT,
        ended_ms       INTEGER,
        output         INTEGER NOT NULL DEFAULT 0,
        cpu_us         INTEGER NOT NULL DEFAULT 0,
        max_rss_kib    INTEGER NOT NULL DEFAULT 0
    , agent TEXT, agent_version TEXT, memory TEXT) STRICT;
INSERT INTO "sessions" VALUES('session-a','a2','["standin","--log","/home/user/a2.log","--reply","done"]','/home/user/project',120,40,'/home/user/home/sessions/session-a',1795034747593,16156,0,NULL,NULL,NULL,NULL,NULL,0,0,0,'standin',NULL,'{"since":1795034751708,"detector":{"verdict":{"state":"working","kind":null,"confidence":0.6,"because":["Enter was typed, and not taken yet"],"until":null,"since":5997},"ready":true,"claim":null,"hooks":{"open":null,"asked":null,"failed":null,"retrying":null,"background":0},"transcript":{"open":null,"asked":null,"failed":null,"retrying":null,"background":0}},"transcript":null,"told":{"prompts":[],"answer":null,"answered":false,"current":false,"failure":null},"tells_replies":false,"usage":{"input":0,"cached":0,"output":0,"cost_micros":0}}');
INSERT INTO "sessions" VALUES('session-b','a4','["standin","--log","/home/user/a4.log","--reply","done"]','/home/user/project',120,40,'/home/user/home/sessions/session-b',1795034748853,16171,1,'killed',NULL,15,'ended by signal 15',1795034752810,2222,3880,6188,'standin',NULL,'{"since":1795034752599,"detector":{"verdict":{"state":"working","kind":null,"confidence":0.6,"because":["Enter was typed, and not taken yet"],"until":null,"since":6889},"ready":true,"claim":null,"hooks":{"open":null,"asked":null,"failed":null,"retrying":null,"background":0},"transcript":{"open":null,"asked":null,"failed":null,"retrying":null,"background":0}},"transcript":null,"told":{"prompts":[],"answer":null,"answered":false,"current":false,"failure":null},"tells_replies":false,"usage":{"input":0,"cached":0,"output":0,"cost_micros":0}}');
CREATE TABLE shared_attempts (
        run    TEXT NOT NULL,
        number INTEGER NOT NULL,
        value  TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "shared_attempts" VALUES('01a1f068-a8e6-77f8-b1ea-c959e2d731cf',1,'{"ended":null,"errors":[],"number":1,"started":1795034753427,"status":"running","turns":[{"changes":null,"ended":null,"proof":"screen: the composer was emptied; screen: the agent went to work","provider":"standin","reason":null,"started":1795034753429,"stop":null,"submitted":1795034754956}]}');
CREATE TABLE shared_cells (
        kind    TEXT NOT NULL,                      -- breaker or run
        name    TEXT NOT NULL,
        version INTEGER NOT NULL,
        value   TEXT NOT NULL,                      -- JSON
        PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "shared_cells" VALUES('run','r',3,'{"kept":true}');
CREATE TABLE shared_continuity (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        project TEXT NOT NULL,
        id      TEXT NOT NULL,
        value   TEXT NOT NULL,
        UNIQUE (project, id)
    ) STRICT;
INSERT INTO "shared_continuity" VALUES(1,'/home/user/project','session-b','{"agent":"standin","at":1795034752810,"branch":null,"commit":null,"commits":[],"files":[],"id":"session-b","open":[],"project":"/home/user/project","session":"a4","source":"session","summary":"Asked: a4 said"}');
CREATE UNIQUE INDEX live_names ON sessions (name) WHERE ending IS NULL;
CREATE INDEX names ON sessions (name, created_ms);
CREATE INDEX events_of_session ON events (session, seq);
CREATE UNIQUE INDEX message_order ON messages (session, seq);
CREATE INDEX shared_continuity_of_project ON shared_continuity (project, seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',63);
INSERT INTO "sqlite_sequence" VALUES('shared_continuity',2);
COMMIT;
PRAGMA user_version = 11;
