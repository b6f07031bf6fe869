/** A secret in the hand: its value is behind `reveal`, and nothing that prints it finds the way there. */
import { inspect } from 'node:util'

import type { Secret } from './secrets.ts'

/** What stands in the place of a secret, wherever one is hidden. */
export const HIDDEN = '[secret]'

export function secret(name: string, value: string): Secret {
  return new Handle(name, value)
}

class Handle implements Secret {
  readonly name: string
  readonly #value: string

  constructor(name: string, value: string) {
    this.name = name
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return HIDDEN
  }

  toJSON(): string {
    return HIDDEN
  }

  [Symbol.toPrimitive](): string {
    return HIDDEN
  }

  [inspect.custom](): string {
    return HIDDEN
  }
}
