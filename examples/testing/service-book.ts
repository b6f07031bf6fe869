/** The service book of a kettle, an entity: after so many cups it has to be descaled. */
import { accept, answer, entity, type EntityDefinition } from '../../src/entity/index.ts'

export type BookCommand = Readonly<{ type: 'boil'; cups: number } | { type: 'descale' }>
export type BookEvent = Readonly<{ type: 'boiled'; cups: number } | { type: 'descaled' }>
export type Book = Readonly<{ cups: number }>
export type BookReply = Readonly<{ ok: boolean }>

export const CUPS_MAX = 100

export const serviceBook: EntityDefinition<Book, BookCommand, BookEvent, BookReply> = entity({
  type: 'service-book',
  version: 1,
  initial: () => ({ cups: 0 }),
  decide({ cups }, command) {
    if (command.type === 'descale') return accept([{ type: 'descaled' }], { ok: true })
    if (cups + command.cups > CUPS_MAX) return answer({ ok: false })
    return accept([{ type: 'boiled', cups: command.cups }], { ok: true })
  },
  evolve: ({ cups }, event) => ({ cups: event.type === 'boiled' ? cups + event.cups : 0 }),
})
