/** Everything that is said to the tables in order to file. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

const TEXTS = {
  stream: 'select * from streams where name = ?',
  insertStream: 'insert into streams (version, link, crc, id, name) values (?, ?, ?, ?, ?)',
  updateStream: 'update streams set version = ?, link = ?, crc = ? where id = ?',
  insertEvent: 'insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  insertAnswer: 'insert into ledger values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing',
  idOfAnswer: 'select id from ledger where key = ?',
  lastAnswer: 'select at from ledger order by id desc limit 1',
  oldestAnswers: 'select id, at from ledger where id >= ? order by id limit ?',
  deleteAnswers: 'delete from ledger where id <= ?',
  deleteSnapshot: 'delete from snapshots where stream = ? and seq = ? and fold = ? returning crc',
  insertSnapshot: 'insert into snapshots values (?, ?, ?, ?, ?, ?, ?)',
  fence: 'select * from fences where name = ?',
  deleteFence: 'delete from fences where name = ? returning crc',
  insertFence: 'insert into fences values (?, ?, ?)',
  digest: 'select * from digests where name = ?',
  digestById: 'select * from digests where id = ?',
  // Records tell as well, so that those of a collection whose row is gone are given to no other.
  lastDigest:
    'select max(ifnull((select max(collection) from records), 0), max(id)) as id from digests',
  writeDigest: 'insert or replace into digests values (?, ?, ?, ?, ?)',
  anchor: 'select * from anchor',
  writeAnchor: 'insert or replace into anchor values (1, ?, ?, ?, ?, ?, ?)',
} as const

export type Statements = Readonly<Record<keyof typeof TEXTS, StatementSync>>

export function prepared(database: DatabaseSync): Statements {
  const prepare = (name: keyof typeof TEXTS): StatementSync => database.prepare(TEXTS[name])
  return {
    stream: prepare('stream'),
    insertStream: prepare('insertStream'),
    updateStream: prepare('updateStream'),
    insertEvent: prepare('insertEvent'),
    insertAnswer: prepare('insertAnswer'),
    idOfAnswer: prepare('idOfAnswer'),
    lastAnswer: prepare('lastAnswer'),
    oldestAnswers: prepare('oldestAnswers'),
    deleteAnswers: prepare('deleteAnswers'),
    deleteSnapshot: prepare('deleteSnapshot'),
    insertSnapshot: prepare('insertSnapshot'),
    fence: prepare('fence'),
    deleteFence: prepare('deleteFence'),
    insertFence: prepare('insertFence'),
    digest: prepare('digest'),
    digestById: prepare('digestById'),
    lastDigest: prepare('lastDigest'),
    writeDigest: prepare('writeDigest'),
    anchor: prepare('anchor'),
    writeAnchor: prepare('writeAnchor'),
  }
}
