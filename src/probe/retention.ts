/** Forgets tests that ended long ago, or that are too many, and is gone. */
import { receive, setup, type Behavior } from '../kernel/index.ts'
import type { House } from './house.ts'
import { isLive } from './record.ts'

type Message = 'done' | Readonly<{ error: unknown }>

export function retention(house: House): Behavior<Message> {
  const { log } = house
  return setup((ctx) => {
    ctx.pipe<void>(
      forgetOld(house, ctx.signal),
      () => 'done',
      (error) => ({ error }),
    )
    return receive((_ctx, message) => {
      if (message !== 'done')
        log.warn('old tests could not be forgotten', { error: String(message.error) })
      return 'stopped'
    })
  })
}

async function forgetOld(house: House, signal: AbortSignal): Promise<void> {
  const { register, settings, tally, ports } = house
  const before = register.now() - settings.retentionMs
  for await (const testIds of register.old(before, settings.retentionTests))
    for (const testId of testIds) {
      if (signal.aborted) return
      if (house.seen.schedule?.has(testId) === true) continue // somebody is at it
      const record = await register.read(testId)
      if (record === undefined || isLive(record)) continue
      await ports.removeUpload(testId) // first: nobody looks for that of a test that is forgotten
      if (await register.forget(testId)) tally.forgotten++
    }
}
