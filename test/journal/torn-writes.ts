/** Processes that are killed in the middle of a write, so that a part of it is there and the rest is not. */
import assert from 'node:assert/strict'
import { join } from 'node:path'

import { History } from './history.ts'
import { listen } from './kills.ts'
import { readRecordings, type Deed } from './recording.ts'
import { workplace } from './subject.ts'

/** The bytes three small commits write, and where one write ends and the next begins. */
export type Extent = Readonly<{ bytes: number; borders: readonly number[] }>

/** A load whose next batch is not asked for before the last was answered. */
const ONE_BY_ONE = { clients: 1, burst: 1, size: 'small' } as const

export async function measureThreeCommits(directory: string): Promise<Extent> {
  const history = new History()
  const log = join(workplace(), 'three-commits.log')
  await using subject = listen({ directory, faults: { log } }, history)
  await subject.open()
  history.settle(await subject.dump(history.keys))
  subject.tell({
    type: 'load',
    options: { ...history.start(), seed: 1, batches: 20, ...ONE_BY_ONE },
  })
  await subject.report('loaded')
  return extentOf(readRecordings([log]), 3)
}

/** What was written between the answer to the commit before the last three, and the last. */
export function extentOf(deeds: readonly Deed[], commits: number): Extent {
  const answers = deeds.flatMap((deed, i) =>
    deed.type === 'said' && deed.text.startsWith('{"type":"answered"') ? [i] : [],
  )
  const [first, last] = [answers.at(-1 - commits), answers.at(-1)]
  assert.ok(first !== undefined && last !== undefined, 'there were so many commits')
  const borders = [0]
  for (const deed of deeds.slice(first, last))
    if (deed.type === 'write') borders.push(borders.at(-1)! + deed.data.length)
  return { bytes: borders.at(-1)!, borders }
}

/** One process after the other in the same directory, each killed after so many more bytes. */
export async function tear(directory: string, offsets: readonly number[]): Promise<number> {
  const history = new History()
  for (const bytes of offsets) {
    await using subject = listen({ directory, faults: {} }, history)
    await subject.open()
    history.settle(await subject.dump(history.keys))
    subject.tell({ type: 'faults', line: `!bytes ${bytes}` })
    subject.tell({ type: 'load', options: { ...history.start(), seed: bytes, ...ONE_BY_ONE } })
    const { code, signal, stderr } = await subject.exited
    assert.equal(signal, 'SIGKILL', `it ended by itself (${code})\n${stderr}`)
  }
  await using subject = listen({ directory }, history)
  await subject.open()
  history.settle(await subject.dump(history.keys))
  return history.acknowledged
}
