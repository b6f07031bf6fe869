/**
 * Proof that the model bites: plants one bug after the other and sees each caught.
 *
 *   node test/broker/planted-bugs.ts
 *
 * Each bug is a small change of the text of the broker, made in a copy of the tree outside of it. A change whose
 * place is not found exactly once is an error: the broker has moved, and the bug has to be planted anew. The copy
 * without a bug must pass, or a catch would mean nothing.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/** `find` is replaced by `put` in a file of `src/broker`. */
export type Bug = Readonly<{ name: string; file: string; find: string; put: string }>

export type Catch = Readonly<{
  bug: string
  /** What the model said, undefined where it said nothing. */
  said: string | undefined
}>

const ROOT = join(import.meta.dirname, '../..')
const SEED = 1
/** Runs of the model against one bug. */
const RUNS = 90
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 120_000

export const BUGS: readonly Bug[] = [
  {
    name: 'a delete is acknowledged before it is durable',
    file: 'dying.ts',
    find: '  core.state.leave(slot)\n  core.writing.add({\n    messages: [{ collection: core.messages',
    put: '  core.state.leave(slot)\n  ended(undefined)\n  core.writing.add({\n    messages: [{ collection: core.messages',
  },
  {
    name: 'a dead letter stays where it died, too',
    file: 'dying.ts',
    find: '      { collection: core.messages, key: core.keyOf(slot), deleted: true },\n      { collection: messagesOf',
    put: '      { collection: messagesOf',
  },
  {
    name: 'a message is delivered once more than it may be',
    file: 'dying.ts',
    find: 'state.slots.receives[slot]! >= config.maxReceives',
    put: 'state.slots.receives[slot]! > config.maxReceives',
  },
  {
    name: 'what comes back has no count on record',
    file: 'counting.ts',
    find: 'notes: [noteOf(core, slot, dueAt)],',
    put: 'notes: [],',
  },
  {
    name: 'a group gives more before it is settled',
    file: 'ready.ts',
    find: 'if (this.#isFifo) for (const slot of slots) this.#close(this.laneOf(slot))',
    put: 'if (!this.#isFifo) for (const slot of slots) this.#close(this.laneOf(slot))',
  },
  {
    name: 'what another queue has moved is admitted twice',
    file: 'queue.ts',
    find: 'if (core.foundEarly.delete(message.seq)) return undefined',
    put: 'if (core.foundEarly.delete(-message.seq)) return undefined',
  },
  {
    name: 'a batch of unknown outcome is taken not to be there',
    file: 'committing.ts',
    find: 'if (isThere) return undefined',
    put: 'if (isThere && records.length > 10_000) return undefined',
  },
  {
    name: 'an id is remembered though nothing was sent under it',
    file: 'sending.ts',
    find: 'if (core.known.get(own.key) === own) core.known.delete(own.key)',
    put: 'if (core.known.get(own.key) !== own) core.known.delete(own.key)',
  },
  {
    name: 'a lease is not as long as it was made',
    file: 'settling.ts',
    find: 'core.state.extend(slot, now + visibilityMs)',
    put: 'core.state.extend(slot, now + visibilityMs / 2)',
  },
  {
    name: 'nothing is told of what is due after a delay',
    file: 'queue-core.ts',
    find: 'this.state.stay(slot, this.now, dueAt)',
    put: 'this.state.stay(slot, this.now, Math.min(dueAt, this.now))',
  },
]

/** First the tree without a bug, then each bug. */
export async function plantAll(): Promise<readonly Catch[]> {
  const all: (Bug | undefined)[] = [undefined, ...BUGS]
  const catches: Catch[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) catches[at] = await plant(all[at])
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return catches
}

async function plant(bug: Bug | undefined): Promise<Catch> {
  const copy = mkdtempSync(join(tmpdir(), 'planted-bug-'))
  try {
    for (const part of ['src', 'test/broker', 'package.json'])
      cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    if (bug !== undefined) change(copy, bug)
    return { bug: bug?.name ?? 'none', said: await runModel(copy) }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function change(copy: string, { name, file, find, put }: Bug): void {
  const path = join(copy, 'src/broker', file)
  const text = readFileSync(path, 'utf8')
  const found = text.split(find).length - 1
  if (found !== 1) throw new Error(`${name}: ${file} has ${found} places for it: ${find}`)
  writeFileSync(path, text.replace(find, put))
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

/** What was caught, for people. */
export function tableOf(catches: readonly Catch[]): string {
  const width = Math.max(...catches.map(({ bug }) => bug.length))
  return catches.map(({ bug, said }) => `${bug.padEnd(width)}  ${said ?? 'not caught'}`).join('\n')
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantAll())}\n`)
