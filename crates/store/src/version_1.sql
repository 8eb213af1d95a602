-- A frozen fixture for the test of migration: a store as version 1 of the tables made it, with a run, a study and a
-- trial in it. It says again what schema.rs says of version 1, and is never changed: such a store must be readable for
-- ever, whatever schema.rs becomes.
PRAGMA application_id = 1667331428;
PRAGMA user_version = 1;
CREATE TABLE entry (
    nth INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
    started_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE environment (
    digest TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE study (
    id TEXT PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    seed TEXT NOT NULL,
    command TEXT NOT NULL,
    environment TEXT NOT NULL REFERENCES environment (digest),
    varying TEXT NOT NULL,
    experiment_size INTEGER NOT NULL,
    experiment BLOB NOT NULL,
    campaign_size INTEGER NOT NULL,
    campaign BLOB NOT NULL
) STRICT;
CREATE TABLE event (
    nth INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    at_ns INTEGER NOT NULL,
    event TEXT NOT NULL,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE run (
    id TEXT PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    peer TEXT,
    title TEXT,
    command TEXT NOT NULL,
    outcome TEXT NOT NULL,
    study TEXT REFERENCES study (id),
    study_case TEXT,
    repeat INTEGER,
    position INTEGER,
    baseline INTEGER,
    goodput_bps REAL,
    loss REAL,
    rtt_us REAL,
    retransmits REAL,
    environment TEXT NOT NULL REFERENCES environment (digest),
    varying TEXT NOT NULL
) STRICT;
CREATE TABLE document (
    run TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    machines TEXT,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE series (
    run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    nth INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    count INTEGER NOT NULL,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (run, nth)
) STRICT;
CREATE TABLE tag (
    nth INTEGER PRIMARY KEY,
    id TEXT NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT;
INSERT INTO entry (id, started_ns) VALUES ('0123456789abcdef0123456789abcdef', 1700000000000000000), ('55555555555555555555555555555555', 1700000001000000000), ('77777777777777777777777777777777', 1700000002000000000);
INSERT INTO environment VALUES ('9b8502902f754a265b871a879e9b61c8fe2481edcf9c490054abe11f63357a53', 115, x'7b22636c69656e74223a7b226b65726e656c223a22362e312e30222c226e616d65223a2268657265227d2c226d616368696e65223a7b226b65726e656c223a22362e312e30227d2c22736572766572223a7b226b65726e656c223a22362e322e30222c226e616d65223a227468657265227d7d');
INSERT INTO study VALUES ('55555555555555555555555555555555', 'starvation', 'Who starves', '18446744073709551615', 'caudal study run starvation', '9b8502902f754a265b871a879e9b61c8fe2481edcf9c490054abe11f63357a53', '{}', 21, x'7b226e616d65223a2273746172766174696f6e227d', 13, x'7b226f72646572223a5b305d7d');
INSERT INTO event (study, at_ns, event, size, packed) VALUES ('55555555555555555555555555555555', 1700000001000000000, 'begun', 4, x'6e756c6c');
INSERT INTO run VALUES ('0123456789abcdef0123456789abcdef', 'tcp', 'caudal 0.1.0', '192.0.2.1:5201', NULL, 'caudal tcp far', 'done', NULL, NULL, NULL, NULL, NULL, 940000000.0, NULL, 120.5, 3.0, '9b8502902f754a265b871a879e9b61c8fe2481edcf9c490054abe11f63357a53', '{"client":{"load_average":0.5},"machine":{"meanwhile":{"cpu":{"steal":0.25}}}}');
INSERT INTO run VALUES ('77777777777777777777777777777777', 'trial', 'caudal 0.1.0', NULL, NULL, 'caudal study run starvation', 'done', '55555555555555555555555555555555', 'tcp = 1', 1, 0, 1, NULL, NULL, NULL, NULL, '9b8502902f754a265b871a879e9b61c8fe2481edcf9c490054abe11f63357a53', '{}');
INSERT INTO document VALUES ('0123456789abcdef0123456789abcdef', '["client","server"]', 168, x'78da5d8edb0a02211445ffe53c0fa6355dc69f89336a25a947bc0431f8ef29410fedb7057b6df6065683042ef687f9783a5f165c9536b77f8609a2c3007283a70dc3282a429b20ab87f1d85961d5e858aa61277a3b57ef31bd877027d2b196eb1a33c865e6df30deed42e44625a037bf8d6ebf4cca96c238c604e3d0da07875732f1');
INSERT INTO document VALUES ('77777777777777777777777777777777', NULL, 27, x'7b22736368656d61223a2263617564616c2e747269616c2f31227d');
INSERT INTO series VALUES ('0123456789abcdef0123456789abcdef', 0, 0, 'rtt 64 B', 'ns', 3, 6, x'0100000a0302');
INSERT INTO tag (id, tag, at_ns, held) VALUES ('0123456789abcdef0123456789abcdef', 'golden', 1700000003000000000, 1);
