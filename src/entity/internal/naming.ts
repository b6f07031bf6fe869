/**
 * Names that are made of other names and must still be short enough.
 *
 * A long one keeps its beginning, for people, and ends in a hash of the whole, so that two long names
 * with the same beginning stay two. The mark between them is one that the encoding of an id never
 * leaves as it is, so a shortened name is nobody else's.
 */
import { NAME_BYTES_MAX } from '../../journal/index.ts'

/** Characters that the kernel allows in the name of an actor. */
const ACTOR_CHARS_MAX = 200
/** What is put behind a stream to name a record or a request: a time, a place, a count. */
const SUFFIX_BYTES_MAX = 112

/** An id as the name of an actor, which has no slash, no dollar sign and no white space. */
export function actorName(id: string): string {
  const name = encodeURIComponent(id)
  return name.length <= ACTOR_CHARS_MAX ? name : shortened(name, ACTOR_CHARS_MAX, id)
}

/** A stream as the beginning of a longer name. */
export function streamTag(stream: string): string {
  const most = NAME_BYTES_MAX - SUFFIX_BYTES_MAX
  if (stream.length * 3 <= most) return stream
  return Buffer.byteLength(stream) <= most
    ? stream
    : shortened(encodeURIComponent(stream), most, stream)
}

function shortened(name: string, most: number, whole: string): string {
  return `${name.slice(0, most - 17)}:${hashOf(whole)}`
}

/** Sixteen hexadecimal digits: FNV-1a twice, over the code units from either end. */
function hashOf(text: string): string {
  let [there, back] = [0x811c9dc5, 0x811c9dc5]
  for (let n = 0; n < text.length; n++) {
    there = Math.imul(there ^ text.charCodeAt(n), 0x01000193)
    back = Math.imul(back ^ text.charCodeAt(text.length - 1 - n), 0x01000193)
  }
  return hex(there) + hex(back)
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
