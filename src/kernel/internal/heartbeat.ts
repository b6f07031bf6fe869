/**
 * The thread's sign of life: a shared word that moves with every drain and
 * refuel, and one that says whether a turn is running. The watchdog thread reads
 * both; a busy thread whose first word stands still is inside one turn.
 */
export const heartbeat: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(8))
