/**
 * A thread in the process of a run that ends it, and all it has started, when the runner is gone.
 * It is a thread of its own because a step may never give up the main one.
 */
import { Socket } from 'node:net'

import { LIFELINE_FD } from './channel.ts'

new Socket({ fd: LIFELINE_FD })
  .on('error', () => undefined)
  .on('close', () => {
    try {
      process.kill(-process.pid, 'SIGKILL')
    } finally {
      process.kill(process.pid, 'SIGKILL') // where it does not lead its group
    }
  })
  .resume()
