/** Every bound of the broker, with its reason. Those that Amazon SQS has are Amazon's. */

/** A message: body and attributes together, in bytes. */
export const MESSAGE_BYTES_MAX = 1_048_576
/** Messages that one send or one settling may have. */
export const BROKER_BATCH_MAX = 1_000
/** Messages that one receive may ask for. */
export const RECEIVE_MAX = 1_000
/** How long a receive may wait, and a lease may last with all its extensions: a minute, and 12 h as in SQS. */
export const WAIT_MS_MAX = 60_000
export const VISIBILITY_MS_MAX = 43_200_000
/** How long a message may be put off: 30 days, since a delay is no calendar. */
export const DELAY_MS_MAX = 2_592_000_000
/** Leases of one queue at a time. */
export const IN_FLIGHT_MAX_STANDARD = 120_000
export const IN_FLIGHT_MAX_FIFO = 20_000
/** Receives that may wait at one queue, and sends that wait for room. */
export const PARKED_MAX = 20_000
/** How long a FIFO queue remembers what it was sent. */
export const DEDUP_MS_FIFO = 300_000
export const DEDUP_MS_MAX = 3_600_000
/** What is remembered of a message's failures: the last so many. */
export const FAILURES_MAX = 8
export const FAILURE_REASON_CHARS_MAX = 256
/** Characters of a queue's name, of a group and of a deduplication id; tags of a queue. */
export const QUEUE_NAME_CHARS_MAX = 80
export const GROUP_CHARS_MAX = 128
export const DEDUP_ID_CHARS_MAX = 128
export const QUEUE_TAGS_MAX = 50
/** Queues of one broker. */
export const QUEUES_MAX = 1_000_000
/** Texts of messages that are kept in memory, over all queues; others are read when they are handed out. */
export const BODIES_BYTES_DEFAULT = 67_108_864
/** How soon a count of deliveries is written down if nothing else is written before. */
export const COUNTS_MS = 1_000
/** How soon a message is tried again that could not be moved or removed, or whose text could not be read. */
export const BURIAL_RETRY_MS = 1_000
export const UNREADABLE_RETRY_MS = 60_000
/** How soon a queue is loaded again that could not be. */
export const LOAD_RETRY_MS = 1_000
/** What one receive hands out at most, if it is more than one message; and what one send takes. In bytes. */
export const RECEIVE_BYTES_MAX = 16_777_216
export const SEND_BYTES_MAX = 12_582_912
/** What may wait at one queue to be durable, in bytes; then sends are refused. */
export const UNWRITTEN_BYTES_MAX = 67_108_864
/** Deduplication ids that one queue remembers; then sends are refused. */
export const DEDUP_IDS_MAX = 1_000_000
/** Redrives that one queue remembers. */
export const MOVE_TASKS_MAX = 10
/** How soon a queue may be purged again. */
export const PURGE_PAUSE_MS = 60_000
