/**
 * Which Node is needed, and what somebody is told who has an older one. Nothing is imported here: an old
 * Node must get as far as this sentence.
 */

const NODE_MAJOR_MIN = 24
const NODE_MINOR_MIN = 12 // type stripping is stable from here

export const NODE_NEEDED: string = `${NODE_MAJOR_MIN}.${NODE_MINOR_MIN}`

export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > NODE_MAJOR_MIN || (major === NODE_MAJOR_MIN && minor >= NODE_MINOR_MIN)
}

export function nodeRefusal(product: string, version: string): string {
  return (
    `${product} needs Node ${NODE_NEEDED} or newer, this is ${version}. ` +
    'In a checkout `npm ci` brings one and `npm start` uses it; elsewhere install it from nodejs.org.'
  )
}
