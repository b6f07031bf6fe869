/** The journal: events, records, ledger, snapshots and fences, committed as one batch. */
export { diskFull, type Disk } from './disk.ts'
export { differingFields, fingerprintOf } from './fingerprint.ts'
export { memoryJournal, type MemoryJournalOptions } from './memory.ts'
export {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  COMMITS_PENDING_MAX,
  LEDGER_RETENTION_MS_DEFAULT,
  NAME_BYTES_MAX,
  PAGE_BYTES_MIN,
  PAYLOAD_BYTES_MAX,
  PENDING_BYTES_MAX,
  READ_LIMIT_DEFAULT,
  READ_LIMIT_MAX,
} from './journal.ts'
export type {
  Batch,
  CommitResult,
  Expected,
  Fence,
  Journal,
  JournalFault,
  JournalState,
  JournalStats,
  LedgerEntry,
  NewEvent,
  Page,
  RecordWrite,
  Snapshot,
  SnapshotWrite,
  StoredAnswer,
  StoredEvent,
  StoredRecord,
  StreamAppend,
  StreamHead,
  SubscribeOptions,
  Subscription,
} from './journal.ts'
export {
  FAILED_EXIT_CODE,
  sqliteJournal,
  type SqliteJournal,
  type SqliteJournalOptions,
} from './sqlite/engine.ts'
export { describeDirectory, type DirectoryReport } from './sqlite/describe.ts'
export { repairDirectory, restoreDirectory, verifyDirectory } from './sqlite/errand.ts'
export type { RepairOptions } from './sqlite/repair.ts'
export type { Finding, FindingType, Loss, RepairReport, VerifyReport } from './sqlite/report.ts'
