/**
 * A file of the evidence, held to the hash that is on record.
 *
 * Evidence lies beside its bundle, where another test of the same bundle replaces it and others may
 * write. Whoever reads it gets what the test has left, or a refusal, or a stream that breaks: the last
 * piece is held back until the whole is known to be right, so nothing else ever looks complete.
 */
import { createHash } from 'node:crypto'

import { Accident, fault, type Fault } from '../../std/index.ts'
import type { EvidenceFile } from '../record.ts'

export async function openSealed(
  content: AsyncIterable<Uint8Array>,
  file: EvidenceFile,
): Promise<AsyncIterable<Uint8Array> | Fault<'no-such-evidence'>> {
  const pieces = asSealed(content, file)
  let first: IteratorResult<Uint8Array> | undefined
  try {
    first = await pieces.next() // a small file is known to be right before anybody has seen it
  } catch (error) {
    if (error instanceof Changed) return error.fault
    throw error
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const next = first === undefined ? pieces.next() : Promise.resolve(first)
        first = undefined
        return next
      },
      return: () => pieces.return(undefined),
    }),
  }
}

class Changed extends Accident<'no-such-evidence'> {}

async function* asSealed(
  content: AsyncIterable<Uint8Array>,
  { name, sha256 }: EvidenceFile,
): AsyncGenerator<Uint8Array, undefined> {
  const hash = createHash('sha256')
  let held: Uint8Array | undefined
  for await (const piece of content) {
    hash.update(piece)
    if (held !== undefined) yield held
    held = piece
  }
  if (hash.digest('hex') !== sha256)
    throw new Changed(
      fault('no-such-evidence', `${name} is not what the test has left there any more`, {
        name,
        remedy: 'give each test a place of its own: another one of the same bundle replaces it',
      }),
    )
  if (held !== undefined) yield held
  return undefined
}
