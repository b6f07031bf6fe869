/**
 * What is in the tables, and how they may change.
 *
 * A commit does not write them: it writes the bytes of a whole group of batches to the intake
 * (`intake.ts`), which makes it durable for the price of one write and one flush. Later, many groups at
 * once, the batches are *filed* into the tables below, in one transaction that also moves `anchor.filed`
 * to the last of them. A record that was put and deleted in between is never filed at all. What is not
 * filed yet is held in memory too (`desk.ts`); a reader sees both as one.
 *
 * How damage is found:
 *   - every row has a `crc` over all that is in it, its own place included, so that a row in another's
 *     place shows (`checks.ts`);
 *   - every event has a `link`, which depends on all earlier events of its stream, and the row of the
 *     stream says which is the last;
 *   - positions, stream ids and ledger ids have no gaps, and `anchor` says where they end;
 *   - what may be overwritten (records, snapshots, fences) has its count and sum in `digests`.
 *
 * To change the file: add a migration, raise the number, add a directory written by the last version
 * to `test/journal/fixtures`. Never edit a migration that was released.
 */

/** The tables are in this file of the directory. */
export const TABLES_FILE = 'journal.db'
/** The fence that each opening of a directory takes; no fence of anybody else has that name. */
export const DIRECTORY_FENCE = ''

/** The version this program writes, kept in `PRAGMA user_version`. */
export const SCHEMA_VERSION = 1

/** `MIGRATIONS[n]` takes a file from version n to n + 1, in one transaction. */
export const MIGRATIONS: readonly string[] = [
  `
  create table streams (
    id integer primary key,           -- without gaps, from 1
    name text not null unique,
    version integer not null,         -- the seq of its last event
    link integer not null,            -- and the link
    crc integer not null
  );
  create table events (
    position integer primary key,     -- without gaps, from 1
    stream integer not null,
    seq integer not null,
    batch integer not null,           -- the position of the first event of its batch
    at integer not null,
    effective integer,                -- null where it is at
    type text not null,
    version integer not null,
    about text,                       -- JSON of request id, actor and trace, or null
    data blob not null,               -- UTF-8
    crc integer not null,
    link integer not null
  );
  create unique index events_by_stream on events (stream, seq);
  create table records (
    collection integer not null,
    key text not null,
    value blob not null,              -- UTF-8
    crc integer not null,
    primary key (collection, key)
  ) without rowid;
  create table ledger (
    id integer primary key,           -- without gaps; the oldest go when they are forgotten
    key text not null unique,
    fingerprint text not null,
    response blob not null,           -- UTF-8
    position integer not null,
    at integer not null,
    crc integer not null
  );
  create table snapshots (
    stream integer not null,
    seq integer not null,
    fold text not null,
    top_at integer not null,
    top_seq integer not null,
    state blob not null,              -- UTF-8
    crc integer not null,
    primary key (stream, seq, fold)
  ) without rowid;
  create table fences (
    name text primary key,
    token integer not null,
    crc integer not null
  ) without rowid;
  create table digests (
    id integer primary key,           -- of a collection; the first are those of snapshots and fences
    name text not null unique,
    count integer not null,
    sum integer not null,
    crc integer not null
  );
  create table anchor (
    id integer primary key check (id = 1),
    filed integer not null,           -- the last group that was filed
    position integer not null,        -- and what it reached
    streams integer not null,
    ledger_first integer not null,
    ledger_last integer not null,
    crc integer not null
  );
  `,
]
