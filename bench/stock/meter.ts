/**
 * Loaded into a server before its program: says over the channel to the suite since when the whole
 * process has been idle. What a server puts off until after its answers belongs to the figure.
 */
import { quiet } from '../durable/load.ts'

process.on('message', () => {
  quiet().then(
    (since) => process.send?.({ quietSince: performance.timeOrigin + since }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
process.channel?.unref()
