/**
 * Names of files inside a bundle, wherever they come from: a directory, an archive, keys of a store.
 *
 * A name is relative, has `/` between its parts, and can only mean a file below the directory it is
 * joined to. What is hidden and what a test has left behind is no part of a bundle.
 */

export const FILE_NAME_BYTES_MAX = 1_024
export const FILE_NAME_PART_BYTES_MAX = 255

/** What is wrong with the name; undefined when nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'it has no name'
  if (Buffer.byteLength(name) > FILE_NAME_BYTES_MAX)
    return `its name has more than ${FILE_NAME_BYTES_MAX} bytes`
  if (/\p{Cc}/u.test(name)) return 'its name has a control character'
  if (name.includes('\ufffd') || !name.isWellFormed()) return 'its name is no proper UTF-8'
  if (name.includes('\\')) return 'its name has a backslash'
  if (/^(?:\/|[A-Za-z]:)/.test(name)) return 'its name is absolute'
  const parts = name.split('/')
  if (parts.includes('..') || parts.includes('.')) return 'its name leads out of the bundle or back'
  if (parts.includes('')) return 'a part of its name is empty'
  if (parts.some((part) => Buffer.byteLength(part) > FILE_NAME_PART_BYTES_MAX))
    return `a part of its name has more than ${FILE_NAME_PART_BYTES_MAX} bytes`
  return undefined
}

/** The name for a message: whatever could move a cursor or break a line is shown as its code. */
export function shownName(name: string): string {
  const shown = name.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return shown.length > 200 ? `${shown.slice(0, 200)}…` : shown
}

/** Hidden files, what archivers add, and the evidence of earlier tests. */
export function isLeftOut(name: string): boolean {
  return /(?:^|\/)\.|^(?:evidence|__MACOSX)(?:\/|$)/.test(name)
}
