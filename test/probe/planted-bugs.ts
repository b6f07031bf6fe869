/**
 * Proof that the model bites: plants one bug after the other and sees each caught.
 *
 *   node test/probe/planted-bugs.ts
 */
import { execFile } from 'node:child_process'

import { bug, plantAll, tableOf, type Bug, type Catch } from '../planting.ts'

const SEED = 1
/** Programs against one bug; the first that goes wrong ends them. */
const PROGRAMS = 1_500
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 240_000

export const BUGS: readonly Bug[] = [
  bug(
    'a test that ended while it was in line stays there',
    'schedule.ts',
    '    this.#release(this.#entry(testId))\n    this.mark(testId, state)',
    '    if (this.isRunning(testId)) this.#release(this.#entry(testId))\n    this.mark(testId, state)',
  ),
  {
    name: 'the slot of a test that crashed is not freed',
    changes: [
      {
        file: 'noticing.ts',
        find: "  core.schedule.finish(testId, 'Exception')",
        put: "  core.schedule.mark(testId, 'Exception')",
      },
      {
        file: 'noticing.ts',
        find: '  core.schedule.finish(testId, state)',
        put: '  if (ranFrom !== undefined || !core.schedule.isRunning(testId)) core.schedule.finish(testId, state)',
      },
    ],
  },
  {
    name: 'a cancel in Loading is not answered',
    changes: [
      {
        file: 'execution/loading.ts',
        find: 'cancelled(data, message),',
        put: "cancelled(data, { ...message, replyTo: { path: '', tell: () => undefined } }),",
      },
      {
        file: 'noticing.ts',
        find: 'else void route(core, request.message)',
        put: "else if (request.message.type !== 'cancel-test') void route(core, request.message)",
      },
    ],
  },
  bug(
    'a test that was interrupted is queued again twice',
    'execution/loading.ts',
    "[{ type: 'interrupted', at }, requeued]",
    "[{ type: 'interrupted', at }, requeued, requeued]",
  ),
  bug(
    'a record is written without its event',
    'register.ts',
    '        streams: [\n',
    "        streams: events[0]?.type === 'result-kept' ? [] : [\n",
  ),
  bug(
    'a record is written only when the state is another',
    'register.ts',
    '    writes.push({ collection: TESTS, key: testId, value: JSON.stringify(after) })',
    '    if (before?.state !== after.state) writes.push({ collection: TESTS, key: testId, value: JSON.stringify(after) })',
  ),
  bug(
    'one more runs than there are slots',
    'schedule.ts',
    'this.#running.size >= this.options.slots) return',
    'this.#running.size > this.options.slots) return',
  ),
  bug(
    'the first of the names of a test may be held by two',
    'schedule.ts',
    'return keys.find((key) => this.#holders.has(key))',
    'return keys.slice(1).find((key) => this.#holders.has(key))',
  ),
  bug(
    'who waits for a name is not called when it is free',
    'schedule.ts',
    '      this.#holders.delete(key)\n      this.#call(key)',
    '      this.#holders.delete(key)',
  ),
  {
    name: 'nobody looks for the next when a test has left',
    changes: [
      {
        file: 'noticing.ts',
        find: '  core.schedule.remove(testId)\n  return core.process()',
        put: '  core.schedule.remove(testId)\n  return undefined',
      },
      {
        file: 'noticing.ts',
        find: 'route(core, request.message)\n  }\n  return core.process()',
        put: 'route(core, request.message)\n  }\n  return undefined',
      },
    ],
  },
  bug(
    'priorities do not count',
    'schedule.ts',
    'return a.priority > b.priority || (a.priority === b.priority && a.joined < b.joined)',
    'return a.joined < b.joined',
  ),
  bug(
    'a cancel is answered before it is durable',
    'execution/shutting-down.ts',
    'const events = eventsOf(life, data)\n',
    "const events = eventsOf(life, data)\n    if (arrival.type === 'cancel') arrival.replyTo.tell({ testId: life.testId, cancelled: true })\n",
  ),
  bug(
    'requests that a test has not answered are forgotten when it ends',
    'noticing.ts',
    '  const open = [...entry.open]',
    '  const open = [...entry.open].slice(1_000)',
  ),
  {
    name: 'directories of a test that was stopped stay',
    changes: [
      {
        file: 'children/block-storage.ts',
        find: "      case 'stop':\n        this.#isOwed = false",
        put: "      case 'stop':",
      },
      { file: 'execution/shutting-down.ts', find: '  await clear(life)\n', put: '' },
    ],
  },
]

/** First the tree without a bug, then each bug. */
export function plantBugs(): Promise<readonly Catch[]> {
  return plantAll({ bugs: BUGS, folder: 'src/probe', tests: 'test/probe', run: runModel })
}

/** What the model of a copy says. It is a process of its own: what it breaks is its own, too. */
async function runModel(copy: string): Promise<string | undefined> {
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env
  const env = { ...rest, MODEL_SHRINK: 'no' }
  const options = { cwd: copy, env, timeout: RUN_MS_MAX, maxBuffer: 2 ** 26 }
  const args = ['test/probe/model/campaign.ts', `${SEED}`, `${PROGRAMS}`]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, _stdout, stderr) => {
      const said = /model: (seed \d+: .*)/.exec(stderr)?.[1]
      if (error === null || said !== undefined) resolve(said)
      else reject(new Error(`the model neither passed nor found a violation:\n${stderr}`))
    })
  })
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantBugs())}\n`)
