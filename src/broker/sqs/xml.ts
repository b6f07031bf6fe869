/**
 * Answers of the query protocol. An answer is the same value that AWS JSON gets; lists and maps become elements
 * that are repeated, under the name of one of them.
 */
import type { SqsError } from './errors.ts'

export const XML_TYPE = 'text/xml'

const NAMESPACE = 'http://queue.amazonaws.com/doc/2012-11-05/'

/** What an item of a list is called. */
const ITEMS: Readonly<Record<string, string>> = {
  QueueUrls: 'QueueUrl',
  queueUrls: 'QueueUrl',
  Messages: 'Message',
  Failed: 'BatchResultErrorEntry',
  Results: 'ListMessageMoveTasksResultEntry',
}

/** What an entry of a map is called, and its name within it. */
const MAPS: Readonly<Record<string, readonly [entry: string, name: string]>> = {
  Attributes: ['Attribute', 'Name'],
  MessageAttributes: ['MessageAttribute', 'Name'],
  Tags: ['Tag', 'Key'],
}

export function xmlAnswer(action: string, output: unknown, requestId: string): string {
  const result =
    output === undefined
      ? ''
      : element(`${action}Result`, contentOf(output, `${action}ResultEntry`))
  const metadata = element('ResponseMetadata', element('RequestId', requestId))
  return `<?xml version="1.0"?><${action}Response xmlns="${NAMESPACE}">${result}${metadata}</${action}Response>`
}

export function xmlError(error: SqsError, requestId: string): string {
  const { code, status } = error.row
  const content =
    element('Type', status < 500 ? 'Sender' : 'Receiver') +
    element('Code', code) +
    element('Message', escaped(error.textFor('query'))) +
    '<Detail/>'
  return (
    `<?xml version="1.0"?><ErrorResponse xmlns="${NAMESPACE}">` +
    `${element('Error', content)}${element('RequestId', requestId)}</ErrorResponse>`
  )
}

function contentOf(value: unknown, successful: string): string {
  if (typeof value !== 'object' || value === null) return escaped(String(value))
  return Object.entries(value)
    .map(([name, inner]) => fieldOf(name, inner, successful))
    .join('')
}

function fieldOf(name: string, value: unknown, successful: string): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) {
    const item = name === 'Successful' ? successful : (ITEMS[name] ?? name)
    return value.map((one) => element(item, contentOf(one, successful))).join('')
  }
  const map = MAPS[name]
  if (map === undefined || typeof value !== 'object' || value === null)
    return element(name, contentOf(value, successful))
  const [entry, nameField] = map
  return Object.entries(value)
    .map(([key, inner]) =>
      element(
        entry,
        element(nameField, escaped(key)) + element('Value', contentOf(inner, successful)),
      ),
    )
    .join('')
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  // A reader turns it into a line feed unless it is written so.
  '\r': '&#xD;',
}

// oxlint-disable-next-line no-control-regex -- these are meant
const UNSAYABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** What XML cannot say at all becomes the sign for that. */
export function escaped(value: string): string {
  const plain = /[&<>"'\r]/.test(value)
    ? value.replace(/[&<>"'\r]/g, (character) => ENTITIES[character]!)
    : value
  return plain.toWellFormed().replace(UNSAYABLE, '\ufffd')
}
