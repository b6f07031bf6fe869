/**
 * Hides secrets in whatever leaves a test: every value that was registered, in every form it may have.
 *
 * What is looked for is the values themselves and no pattern around them, so it does not matter who
 * prints one, or in which words. Where several overlap all of them are hidden. A stream is hidden the
 * same as a whole text, wherever it was cut: as much of its end is held back as a form could need.
 *
 * A value of fewer than `MASKED_CHARS_MIN` characters cannot be told from other text, and is not hidden;
 * `fieldsOf` refuses it in a secret, whatever store that comes from.
 */
import { Accident, fault } from '../../std/index.ts'
import { formsOf } from './forms.ts'
import { HIDDEN } from './secret.ts'
import type { LiveMask } from './secrets.ts'

export const MASKED_CHARS_MIN = 4
export const MASKED_VALUES_MAX = 1_000

const START_CHARS = 4

export function createMask(): LiveMask {
  const values = new Set<string>()
  const forms = new Forms()

  return {
    add(value) {
      if (value.length < MASKED_CHARS_MIN || values.has(value)) return
      if (values.size === MASKED_VALUES_MAX)
        throw new Accident(
          fault('bad-secret', `a test has more than ${MASKED_VALUES_MAX} secret values`, {
            isTransient: false,
            remedy: 'ask for fewer secrets',
          }),
        )
      values.add(value)
      for (const form of formsOf(value)) forms.add(form)
    },

    text(text) {
      return new Masking(forms).take(text, true)
    },

    stream() {
      const masking = new Masking(forms)
      return { push: (piece) => masking.take(piece, false), end: () => masking.take('', true) }
    },
  }
}

/**
 * All forms, found by how they begin. One pattern of them all would be shorter to write, and takes
 * minutes to compile where values are long.
 */
class Forms {
  readonly #byStart = new Map<string, string[]>()
  /** Which first two characters, as far as 16 bits tell them apart, are those of a form. */
  readonly #marks = new Uint8Array(65_536)
  #longest = 1

  get isEmpty(): boolean {
    return this.#byStart.size === 0
  }

  get longest(): number {
    return this.#longest
  }

  add(form: string): void {
    const start = form.slice(0, START_CHARS)
    const alike = this.#byStart.get(start) ?? []
    if (alike.includes(form)) return
    alike.push(form)
    alike.sort((a, b) => b.length - a.length)
    this.#byStart.set(start, alike)
    this.#marks[markAt(form, 0)] = 1
    this.#longest = Math.max(this.#longest, form.length)
  }

  /** How long the longest form is that stands there; 0 where none does. */
  lengthAt(text: string, at: number): number {
    if (this.#marks[markAt(text, at)] === 0) return 0
    const alike = this.#byStart.get(text.slice(at, at + START_CHARS))
    return alike?.find((form) => text.startsWith(form, at))?.length ?? 0
  }
}

/** The last character of a text is marked as if a NUL came after it. */
function markAt(text: string, at: number): number {
  return ((text.charCodeAt(at) << 8) ^ text.charCodeAt(at + 1)) & 0xffff
}

class Masking {
  readonly #forms: Forms
  /** The end of what came, which may be the beginning of a secret. */
  #held = ''
  /** How much at the beginning of it belongs to a secret that was hidden already. */
  #hidden = 0

  constructor(forms: Forms) {
    this.#forms = forms
  }

  take(piece: string, isLast: boolean): string {
    const text = this.#held + piece
    // Of what begins before it, all is there.
    const limit = isLast ? text.length : Math.max(text.length - this.#forms.longest + 1, 0)
    let hiddenUntil = this.#hidden
    let shown = ''
    for (let at = 0; at < limit && !this.#forms.isEmpty; at++) {
      const length = this.#forms.lengthAt(text, at)
      if (length === 0) continue
      if (at >= hiddenUntil) shown += text.slice(hiddenUntil, at) + HIDDEN
      hiddenUntil = Math.max(hiddenUntil, at + length)
    }
    shown += text.slice(hiddenUntil, Math.max(limit, hiddenUntil))
    this.#held = text.slice(limit)
    this.#hidden = Math.max(hiddenUntil - limit, 0)
    return shown
  }
}
