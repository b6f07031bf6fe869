/** The other side of `RawLogThread`: each text that is posted is on disk before it is answered. */
import { parentPort, workerData } from 'node:worker_threads'
import { RawLog } from './raw-log.ts'

const port = parentPort
if (port === null) throw new Error('started by RawLogThread only')
const log = new RawLog(String(workerData))
port.on('message', (text: string) => {
  log.append(text.length)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread is no window.
  port.postMessage(0)
})
