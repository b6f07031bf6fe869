/**
 * Texts to bytes and back. Short ones that are plain ASCII, as names mostly are, are not worth a call
 * out of JavaScript.
 */

const SHORT_MAX = 32
const ASCII_MAX = 0x7f
const KNOWN_MAX = 1_024 // a power of two

/** Writes UTF-8 at `at`, where there is room for it; gives its bytes. */
export function writeText(bytes: Buffer, text: string, at: number): number {
  const { length } = text
  if (length > SHORT_MAX) return bytes.write(text, at)
  for (let n = 0; n < length; n++) {
    const unit = text.charCodeAt(n)
    if (unit > ASCII_MAX) return bytes.write(text, at)
    bytes[at + n] = unit
  }
  return length
}

/** Texts of which there are few and that come again and again: each is made once, while it is known. */
export class KnownTexts {
  readonly #known: string[] = new Array<string>(KNOWN_MAX).fill('')

  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start
    if (length > SHORT_MAX) return bytes.toString('utf8', start, end)
    let hash = length
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0
    const slot = hash & (KNOWN_MAX - 1)
    const known = this.#known[slot]!
    return isText(known, bytes, start, length)
      ? known
      : (this.#known[slot] = bytes.toString('utf8', start, end))
  }
}

/** A text that is not all ASCII has more bytes than code units, and is never told this way. */
function isText(text: string, bytes: Buffer, start: number, length: number): boolean {
  if (text.length !== length) return false
  for (let n = 0; n < length; n++) if (text.charCodeAt(n) !== bytes[start + n]) return false
  return true
}
