/**
 * Rows as damage may have left them: what a row of each table looks like, and whether it is what was
 * written.
 *
 * A row is taken for one of a table only if each value is of the kind its column holds and its crc is
 * that of all the others. Since the crc covers the table and the place as well, that is proof enough
 * for a row on a page which nothing refers to any more.
 */
import {
  anchorCrc,
  digestCrc,
  eventCrc,
  fenceCrc,
  ledgerCrc,
  recordCrc,
  snapshotCrc,
  streamCrc,
  type AnchorRow,
  type DigestRow,
  type EventRow,
  type FenceRow,
  type LedgerRow,
  type RecordRow,
  type SnapshotRow,
  type StreamRow,
} from './checks.ts'

export type Rows = {
  streams: StreamRow
  events: EventRow
  records: RecordRow
  ledger: LedgerRow
  snapshots: SnapshotRow
  fences: FenceRow
  digests: DigestRow
  anchor: AnchorRow & { id: number }
}

export type TableName = keyof Rows

type Kind = 'integer' | 'integer or null' | 'text' | 'text or null' | 'blob'

export interface Table<Name extends TableName = TableName> {
  readonly name: Name
  /** In the order of the schema. */
  readonly columns: readonly (readonly [name: string, kind: Kind])[]
  /** How many columns are its key, where it has no row numbers. */
  readonly keyed: number
  crc(row: Rows[Name]): number
}

export const TABLES: { readonly [Name in TableName]: Table<Name> } = {
  streams: {
    name: 'streams',
    columns: [
      ['id', 'integer'],
      ['name', 'text'],
      ['version', 'integer'],
      ['link', 'integer'],
      ['crc', 'integer'],
    ],
    keyed: 0,
    crc: streamCrc,
  },
  events: {
    name: 'events',
    columns: [
      ['position', 'integer'],
      ['stream', 'integer'],
      ['seq', 'integer'],
      ['batch', 'integer'],
      ['at', 'integer'],
      ['effective', 'integer or null'],
      ['type', 'text'],
      ['version', 'integer'],
      ['about', 'text or null'],
      ['data', 'blob'],
      ['crc', 'integer'],
      ['link', 'integer'],
    ],
    keyed: 0,
    crc: eventCrc,
  },
  records: {
    name: 'records',
    columns: [
      ['collection', 'integer'],
      ['key', 'text'],
      ['value', 'blob'],
      ['crc', 'integer'],
    ],
    keyed: 2,
    crc: recordCrc,
  },
  ledger: {
    name: 'ledger',
    columns: [
      ['id', 'integer'],
      ['key', 'text'],
      ['fingerprint', 'text'],
      ['response', 'blob'],
      ['position', 'integer'],
      ['at', 'integer'],
      ['crc', 'integer'],
    ],
    keyed: 0,
    crc: ledgerCrc,
  },
  snapshots: {
    name: 'snapshots',
    columns: [
      ['stream', 'integer'],
      ['seq', 'integer'],
      ['fold', 'text'],
      ['top_at', 'integer'],
      ['top_seq', 'integer'],
      ['state', 'blob'],
      ['crc', 'integer'],
    ],
    keyed: 3,
    crc: snapshotCrc,
  },
  fences: {
    name: 'fences',
    columns: [
      ['name', 'text'],
      ['token', 'integer'],
      ['crc', 'integer'],
    ],
    keyed: 1,
    crc: fenceCrc,
  },
  digests: {
    name: 'digests',
    columns: [
      ['id', 'integer'],
      ['name', 'text'],
      ['count', 'integer'],
      ['sum', 'integer'],
      ['crc', 'integer'],
    ],
    keyed: 0,
    crc: digestCrc,
  },
  anchor: {
    name: 'anchor',
    columns: [
      ['id', 'integer'],
      ['filed', 'integer'],
      ['position', 'integer'],
      ['streams', 'integer'],
      ['ledger_first', 'integer'],
      ['ledger_last', 'integer'],
      ['crc', 'integer'],
    ],
    keyed: 0,
    crc: anchorCrc,
  },
}

export type RightRow = {
  [Name in TableName]: Readonly<{ table: Name; row: Rows[Name] }>
}[TableName]

/** The row these values are, if they are one of that table. */
export function rightRow(table: TableName, values: readonly unknown[]): RightRow | undefined {
  const found = { table, row: named(TABLES[table], values) }
  return isRight(found) ? found : undefined
}

/** The row, if its values are of the right kinds; whether they are right is another question. */
export function shaped<Name extends TableName>(
  table: Table<Name>,
  values: readonly unknown[],
): Rows[Name] | undefined {
  const row = named(table, values)
  return row !== undefined && isShaped(table, row) ? row : undefined
}

/**
 * The row as SQLite gives it, if it is what was written and the one that was asked for: in a damaged
 * tree SQLite may find another in its place.
 */
export function rightOf<Name extends TableName>(
  table: Table<Name>,
  row: Readonly<Record<string, unknown>>,
  asked: Partial<Rows[Name]> = {},
): Rows[Name] | undefined {
  for (const [column, value] of Object.entries(asked)) if (row[column] !== value) return undefined
  return isShaped(table, row) && table.crc(row) === row.crc ? row : undefined
}

type Named = Readonly<Record<string, unknown>>

function named({ columns }: Table, values: readonly unknown[]): Named | undefined {
  if (values.length !== columns.length) return undefined
  const row: Record<string, unknown> = {}
  for (let n = 0; n < columns.length; n++) row[columns[n]![0]] = values[n]
  return row
}

function isRight(found: { table: TableName; row: Named | undefined }): found is RightRow {
  const table: Table = TABLES[found.table]
  return (
    found.row !== undefined && isShaped(table, found.row) && table.crc(found.row) === found.row.crc
  )
}

function isShaped<Name extends TableName>(
  { columns }: Table<Name>,
  row: Named,
): row is Rows[Name] & Named {
  for (const [column, kind] of columns) if (!isOf(kind, row[column])) return false
  return true
}

function isOf(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'integer':
      return Number.isSafeInteger(value)
    case 'integer or null':
      return value === null || Number.isSafeInteger(value)
    case 'text':
      return typeof value === 'string'
    case 'text or null':
      return value === null || typeof value === 'string'
    case 'blob':
      return value instanceof Uint8Array
  }
}
