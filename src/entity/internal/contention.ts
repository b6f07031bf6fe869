/**
 * Who is let ahead when an entity cannot get a word in.
 *
 * An entity conflicts when others write to its stream between its reading and its writing. After a few
 * conflicts in a row it reserves its stream: batches of this runtime with a leg for it wait until it
 * has written. One entity at a time, first come first served, and it waits for nobody itself: so it is
 * never waited for in a circle, and nobody here can keep it from its turn. Writers elsewhere can, and
 * against them only the bound on conflicts helps.
 */
import type { Active } from './active.ts'
import { writesTo } from './batch.ts'

export class Contention {
  #holder: Active | undefined
  readonly #line: Set<Active> = new Set()
  readonly #held: Set<Active> = new Set()

  reserve(entity: Active): void {
    if (this.#holder === undefined) this.#holder = entity
    else if (this.#holder !== entity) this.#line.add(entity)
  }

  /** Whether the entity may send what it decided; if not, it is called back. */
  mayPass(entity: Active): boolean {
    const holder = this.#holder
    if (holder === undefined || holder === entity) return true
    if (!writesTo(entity.next, holder.stream)) return true
    entity.isHeld = true
    this.#held.add(entity)
    return false
  }

  /** The entity has written, or will not. */
  leave(entity: Active): void {
    if (this.#holder === undefined) return
    this.#line.delete(entity)
    if (this.#held.delete(entity)) entity.isHeld = false
    if (this.#holder !== entity) return
    const [first] = this.#line
    this.#holder = first
    if (first !== undefined) this.#line.delete(first)
    const held = [...this.#held]
    this.#held.clear()
    for (const each of held) each.isHeld = false
    for (const each of held) each.proceed()
  }
}
