/**
 * What a view has read or written lately, as it is stored, so that it need not be read again for every
 * page of events.
 *
 * Good as long as nobody else writes the values: a view that has lost its fence, or does not know what
 * became of a batch, has to forget them.
 */

/** Values that are known at once; with one more it begins anew. */
const KNOWN_MAX = 8_192
/** Longer texts are read again each time. */
const KNOWN_CHARS_MAX = 1_024

export class KnownValues {
  readonly #texts = new Map<string, string | undefined>()

  has(key: string): boolean {
    return this.#texts.has(key)
  }

  /** Undefined where there is none, if it is known at all. */
  get(key: string): string | undefined {
    return this.#texts.get(key)
  }

  set(key: string, text: string | undefined): void {
    if (text !== undefined && text.length > KNOWN_CHARS_MAX) {
      this.#texts.delete(key)
      return
    }
    if (this.#texts.size >= KNOWN_MAX && !this.#texts.has(key)) this.#texts.clear()
    this.#texts.set(key, text)
  }

  clear(): void {
    this.#texts.clear()
  }
}
