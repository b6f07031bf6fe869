/** Every bound of the test orchestrator, with its reason. */

/** Tests that may have an actor at a time: as many as one actor may watch. */
export const LIVE_TESTS_MAX = 100_000
/** Tests that may stand in line unless the options say otherwise, and at most. */
export const DEPTH_DEFAULT = 1_000
export const DEPTH_MAX = 100_000
/** Tests that may run at a time: each is a process, and each has a timer of the queue. */
export const TEST_SLOTS_DEFAULT = 1
export const TEST_SLOTS_MAX = 100
/** Priorities go from 0, the default, to this one, which goes first. */
export const TEST_PRIORITY_MAX = 9
/** Names of which a test may ask to be the only holder, and characters of one. */
export const EXCLUSIVE_MAX = 16
export const EXCLUSIVE_CHARS_MAX = 256

/** How long a test may wait for its bundle; uploading it is part of that, so it is long. */
export const SETUP_MS_DEFAULT = 600_000
/** How long fetching, checking and connecting may take. */
export const LOADING_MS_DEFAULT = 120_000
/** How long the scenarios may take, unless the bundle says less or more. */
export const TESTING_MS_DEFAULT = 300_000
export const TESTING_MS_MAX = 86_400_000
/** How long the actor of a test stays after its end; its record stays much longer. */
export const COMPLETED_MS_DEFAULT = 60_000
export const EXCEPTION_MS_DEFAULT = 30_000
/** How long a worker that was asked to end may take before it is killed. */
export const GRACE_MS_DEFAULT = 5_000
/** How long children may take to end after that; then their test goes without them. */
export const CHILDREN_END_MS = 5_000
/** How soon a test that was told to run has to say that it does. */
export const CONFIRM_MS = 10_000
/** How far a deadline may be put off at a time. */
export const EXTEND_MS_MAX = 86_400_000

/** Runs of one test that a restart of the server may begin. */
export const ATTEMPTS_DEFAULT = 3
/** How soon evidence that could not be stored is tried again, at first and at most, and how often. */
export const EVIDENCE_RETRY_MS_MIN = 1_000
export const EVIDENCE_RETRY_MS_MAX = 300_000
export const EVIDENCE_TRIES_MAX = 20

/** Restarts of the queue within a window before it stays down, and how soon it is made anew then. */
export const QUEUE_RESTARTS_MAX = 10
export const QUEUE_RESTARTS_WINDOW_MS = 60_000
export const QUEUE_RECREATE_MS = 60_000
/** Mail that may wait for the queue. */
export const TEST_QUEUE_MAIL_MAX = 100_000
/** How long a request may take to be answered. */
export const PROBE_ANSWER_MS = 25_000

/** How long finished tests are remembered, and how many. */
export const RETENTION_MS_DEFAULT = 2_592_000_000
export const RETENTION_TESTS_DEFAULT = 100_000
/** How often those are looked for whose time is over. */
export const RETENTION_CHECK_MS = 3_600_000
/** Tests that one listing gives, and at most; and records that it reads to find them. */
export const LIST_TESTS_DEFAULT = 50
export const LIST_TESTS_MAX = 1_000
export const LIST_SCAN_MAX = 10_000
/** Changes that wait for one reader; one that is slower reads them from the journal. */
export const CHANGES_MAX = 1_000

/** Characters of a bucket path, a test type, a tag expression and a request id. */
export const BUCKET_CHARS_MAX = 4_096
export const TEST_TYPE_CHARS_MAX = 2_048
export const TAGS_CHARS_MAX = 4_096
export const TEST_REQUEST_ID_CHARS_MAX = 200
/** Failed scenarios that a record keeps, and characters of any text in it; the evidence has all. */
export const FAILED_SCENARIOS_MAX = 20
export const ERROR_CHARS_MAX = 2_000
