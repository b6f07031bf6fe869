/**
 * Names: which texts are ids, and the key of a pot.
 *
 * A key is both ids percent-encoded with a bar between them, so no two pots share one and a key can be
 * taken apart again. Ids are bounded as they are encoded, because the name of a stream is.
 */
import { assert } from '../std/index.ts'

/** Characters of the id of a product, a location or a supplier once it is percent-encoded. */
export const ID_ENCODED_CHARS_MAX = 240
/** Characters of a request id. */
export const REQUEST_ID_CHARS_MAX = 128

export type PotPlace = Readonly<{ productId: string; locationId: string }>

/** Nearly all ids are such texts, which are names and are the same once they are encoded. */
const PLAIN = /^[\w.-]+$/

/** Whether a text is an id: not blank, no half character, no control character, not too long. */
export function isId(text: string): boolean {
  if (PLAIN.test(text)) return text.length <= ID_ENCODED_CHARS_MAX
  return isName(text) && encodeURIComponent(text).length <= ID_ENCODED_CHARS_MAX
}

export function isRequestId(text: string): boolean {
  return text.length <= REQUEST_ID_CHARS_MAX && (PLAIN.test(text) || isName(text))
}

/** The key of a pot, which is the id of its entity. */
export function potKey({ productId, locationId }: PotPlace): string {
  return `${encodedId(productId)}|${encodedId(locationId)}`
}

/** Whose key it is; undefined if no pot has such a key. */
export function potPlace(key: string): PotPlace | undefined {
  const parts = key.split('|')
  const [productId, locationId] = parts.map(decodedId)
  if (parts.length !== 2 || productId === undefined || locationId === undefined) return undefined
  return potKey({ productId, locationId }) === key ? { productId, locationId } : undefined
}

export function encodedId(id: string): string {
  const encoded = PLAIN.test(id) ? id : encodeURIComponent(id)
  assert(id !== '' && encoded.length <= ID_ENCODED_CHARS_MAX, 'ids are checked where they come in')
  return encoded
}

export function decodedId(encoded: string): string | undefined {
  try {
    const id = decodeURIComponent(encoded)
    return isId(id) ? id : undefined
  } catch {
    return undefined // a percent sign that begins nothing
  }
}

// oxlint-disable-next-line no-control-regex -- which is what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function isName(text: string): boolean {
  return text.trim() !== '' && text.isWellFormed() && !CONTROL.test(text)
}
