/**
 * Chance as a port: a seeded generator, and the two draws from the host that no seed explains.
 *
 * The generator is sfc32 over 32-bit integers only, so a seed gives the same draws on every platform
 * and in every version; `random.test.ts` pins them, because stored seeds must keep their meaning.
 */
import { randomInt, randomUUID } from 'node:crypto'

import { assert } from './assert.ts'

export interface Random {
  /** `random(seed)` repeats every draw of this generator from its beginning. */
  readonly seed: number
  /** A number in [0, 1), with 53 random bits. */
  next(): number
  /** A whole number in [0, n), each equally likely; n from 1 to 2^32. */
  below(n: number): number
  /** One element, each equally likely; `from` must not be empty. */
  pick<T>(from: readonly T[]): T
  /** A generator of its own, seeded by a draw from this one. */
  fork(): Random
}

const WORD = 2 ** 32

/** Any safe whole number from 0 is a seed of its own. */
export function random(seed: number): Random {
  assert(Number.isSafeInteger(seed) && seed >= 0, 'a seed is a safe whole number from 0')
  return new Sfc32(seed)
}

export function freshSeed(): number {
  return randomInt(WORD)
}

/** A version 4 UUID. */
export function freshId(): string {
  return randomUUID()
}

class Sfc32 implements Random {
  readonly seed: number
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.seed = seed
    this.#a = 0
    this.#b = seed | 0
    this.#c = Math.floor(seed / WORD)
    // Neighbouring seeds begin alike; after twelve rounds every bit of the state depends on every other.
    for (let round = 0; round < 12; round++) this.#word()
  }

  next(): number {
    const high = this.#word() >>> 5
    const low = this.#word() >>> 6
    return (high * 2 ** 26 + low) / 2 ** 53
  }

  below(n: number): number {
    assert(Number.isInteger(n) && n >= 1 && n <= WORD, 'below takes a whole number from 1 to 2^32')
    const evenly = WORD - (WORD % n) // a draw from here up would favour the small remainders
    for (;;) {
      const word = this.#word() >>> 0
      if (word < evenly) return word % n
    }
  }

  pick<T>(from: readonly T[]): T {
    assert(from.length > 0, 'there is something to pick from')
    return from[this.below(from.length)]!
  }

  fork(): Random {
    return random(this.#word() >>> 0)
  }

  #word(): number {
    const word = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + word) | 0
    return word
  }
}
