/** Processes that are killed in the middle of a write, so that a part of it is there and the rest is not. */
import assert from 'node:assert/strict'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { History } from './history.ts'
import { listen } from './kills.ts'
import { checkImage } from './image.ts'
import { historyOf } from './power-cuts.ts'
import { readRecordings, RecordedDisk, type Deed } from './recording.ts'
import { freshDirectory, workplace } from './subject.ts'

/** The bytes that some commits write, and where one write ends and the next begins. */
export type Extent = Readonly<{ bytes: number; borders: readonly number[] }>

/** One image in so many is opened with all that belongs to it. */
const WHOLE_EVERY = 50
/** A load whose next batch is not asked for before the last was answered. */
const ONE_BY_ONE = { clients: 1, burst: 1, size: 'small' } as const

/** A run of small commits one by one from an empty directory. */
export async function recordSmallCommits(directory: string, batches: number): Promise<Deed[]> {
  const history = new History()
  const log = join(workplace(), 'small-commits.log')
  rmSync(log, { force: true })
  await using subject = listen({ directory, faults: { log } }, history)
  await subject.open()
  history.settle(await subject.dump(history.keys))
  const options = { ...history.start(), seed: 1, batches, ...ONE_BY_ONE }
  subject.tell({ type: 'load', options })
  await subject.report('loaded')
  return readRecordings([log])
}

/** What the last `commits` commits wrote. */
export function extentOf(deeds: readonly Deed[], commits: number): Extent {
  const borders = [0]
  for (const deed of deeds.slice(...lastCommits(deeds, commits)))
    if (deed.type === 'write') borders.push(borders.at(-1)! + deed.data.length)
  return { bytes: borders.at(-1)!, borders }
}

/** Looks at what is there after every byte of the last commits; says how many images that were. */
export async function checkEveryByte(deeds: readonly Deed[], commits: number): Promise<number> {
  const [first, last] = lastCommits(deeds, commits)
  const disk = new RecordedDisk(freshDirectory('torn-base'))
  const image = join(workplace(), 'torn-image')
  let [text, images] = ['', 0]
  for (const [n, deed] of deeds.slice(0, last).entries()) {
    if (n >= first && deed.type === 'write')
      for (let bytes = 0; bytes < deed.data.length; bytes++) {
        disk.cut(image, 'all')
        writePart(join(image, deed.path), deed.data.subarray(0, bytes), deed.offset)
        await checkImage(image, historyOf(text), images++ % WHOLE_EVERY === 0)
      }
    disk.do(deed)
    if (deed.type === 'said') text += deed.text
  }
  return images
}

/** From the answer to the commit before the last ones, to the answer to the last. */
function lastCommits(deeds: readonly Deed[], commits: number): [first: number, last: number] {
  const answers = deeds.flatMap((deed, n) =>
    deed.type === 'said' && deed.text.startsWith('{"type":"answered"') ? [n] : [],
  )
  const [first, last] = [answers.at(-1 - commits), answers.at(-1)]
  assert.ok(first !== undefined && last !== undefined, 'there were so many commits')
  return [first, last]
}

function writePart(path: string, part: Buffer, offset: number): void {
  const fd = openSync(path, 'r+')
  writeSync(fd, part, 0, part.length, offset)
  closeSync(fd)
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
