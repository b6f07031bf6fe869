/**
 * Proof that the model bites: plants one bug after the other and sees each caught.
 *
 *   node test/broker/planted-bugs.ts
 */
import { execFile } from 'node:child_process'

import { bug, plantAll, tableOf, type Bug, type Catch } from '../planting.ts'

const SEED = 1
/** Runs of the model against one bug. */
const RUNS = 90
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 240_000

export const BUGS: readonly Bug[] = [
  bug(
    'a delete is acknowledged before it is durable',
    'dying.ts',
    '  core.state.leave(slot)\n  core.writing.add({\n    messages: [{ collection: core.messages',
    '  core.state.leave(slot)\n  ended(undefined)\n  core.writing.add({\n    messages: [{ collection: core.messages',
  ),
  bug(
    'a dead letter stays where it died, too',
    'dying.ts',
    '      { collection: core.messages, key: core.keyOf(slot), deleted: true },\n      { collection: messagesOf',
    '      { collection: messagesOf',
  ),
  bug(
    'a message is delivered once more than it may be',
    'dying.ts',
    'state.slots.receives[slot]! >= config.maxReceives',
    'state.slots.receives[slot]! > config.maxReceives',
  ),
  bug(
    'what comes back has no count on record',
    'counting.ts',
    'notes: [noteOf(core, slot, dueAt)],',
    'notes: [],',
  ),
  bug(
    'a group gives more before it is settled',
    'ready.ts',
    'if (this.#isFifo) for (const slot of slots) this.#close(this.laneOf(slot))',
    'if (!this.#isFifo) for (const slot of slots) this.#close(this.laneOf(slot))',
  ),
  bug(
    'what another queue has moved is admitted twice',
    'queue.ts',
    'if (core.foundEarly.delete(message.seq)) return undefined',
    'if (core.foundEarly.delete(-message.seq)) return undefined',
  ),
  bug(
    'a batch of unknown outcome is taken not to be there',
    'committing.ts',
    'if (isThere) return undefined',
    'if (isThere && records.length > 10_000) return undefined',
  ),
  bug(
    'an id is remembered though nothing was sent under it',
    'sending.ts',
    'if (core.known.get(own.key) === own) core.known.delete(own.key)',
    'if (core.known.get(own.key) !== own) core.known.delete(own.key)',
  ),
  bug(
    'a lease is not as long as it was made',
    'settling.ts',
    'core.state.extend(slot, now + visibilityMs)',
    'core.state.extend(slot, now + visibilityMs / 2)',
  ),
  bug(
    'nothing is told of what is due after a delay',
    'queue-core.ts',
    'this.state.stay(slot, this.now, dueAt)',
    'this.state.stay(slot, this.now, Math.min(dueAt, this.now))',
  ),
]

/** First the tree without a bug, then each bug. */
export function plantBugs(): Promise<readonly Catch[]> {
  return plantAll({ bugs: BUGS, folder: 'src/broker', tests: 'test/broker', run: runModel })
}

/** What the model of a copy says. It is a process of its own: what it breaks is its own, too. */
async function runModel(copy: string): Promise<string | undefined> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const options = { cwd: copy, env, timeout: RUN_MS_MAX, maxBuffer: 2 ** 26 }
  const args = ['test/broker/model/campaign.ts', `${SEED}`, `${RUNS}`, 'mixed']
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, _stdout, stderr) => {
      const said = /model: (seed \d+: .*)/.exec(stderr)?.[1]
      if (error === null || said !== undefined) resolve(said)
      else reject(new Error(`the model neither passed nor found a violation:\n${stderr}`))
    })
  })
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantBugs())}\n`)
