/**
 * A fingerprint of what happened.
 *
 * Two runs that did the same have the same one: refs count by path, errors by name and message,
 * everything else by value, properties in the order they were set. It is for comparing runs of one
 * program, not for storing: how values are fed may change between versions.
 */
import { types } from 'node:util'

import type { TraceEntry } from '../kernel/index.ts'
import { isError, isRecord, isRef } from './show.ts'

const DEPTH = 16

export class TraceHash {
  #high = 0xdeadbeef
  #low = 0x41c6ce57

  add(entry: TraceEntry): void {
    this.#text(entry.type)
    this.#text(entry.actor)
    this.#text(String(entry.at))
    this.#value(entry.facts, [])
  }

  /** Sixteen hexadecimal digits over everything added so far. */
  get digest(): string {
    const high = mixed(this.#high, this.#low)
    const low = mixed(this.#low, this.#high)
    return hex(high) + hex(low)
  }

  #value(value: unknown, path: readonly object[]): void {
    if (typeof value === 'object') this.#object(value, path)
    else if (isPrimitive(value)) this.#named(typeof value, String(value)) // 1 is not '1'
    else this.#text('function')
  }

  #object(value: object | null, path: readonly object[]): void {
    if (value === null) this.#text('null')
    else if (path.includes(value) || path.length > DEPTH) this.#text('deeper')
    else if (isRef(value)) this.#named('ref', value.path)
    else if (isError(value)) this.#named(value.name, value.message)
    else if (types.isDate(value)) this.#named('date', String(value.getTime()))
    else if (types.isProxy(value)) this.#text('proxy')
    else if (Array.isArray(value)) this.#all('array', value, [...path, value])
    else if (types.isMap(value)) this.#all('map', [...value].flat(), [...path, value])
    else if (types.isSet(value)) this.#all('set', value, [...path, value])
    else if (ArrayBuffer.isView(value)) this.#bytes(value)
    else this.#properties(value, [...path, value])
  }

  #named(kind: string, name: string): void {
    this.#text(kind)
    this.#text(name)
  }

  #all(kind: string, values: Iterable<unknown>, path: readonly object[]): void {
    this.#text(kind)
    for (const value of values) this.#value(value, path)
    this.#word(path.length)
  }

  #bytes(view: ArrayBufferView): void {
    this.#text('bytes')
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    for (const byte of bytes) this.#word(byte)
    this.#word(bytes.length)
  }

  #properties(value: object, path: readonly object[]): void {
    this.#text(isRecord(value) ? 'record' : value.constructor.name)
    for (const [key, held] of Object.entries(value)) {
      this.#text(key)
      this.#value(held, path)
    }
    this.#word(path.length)
  }

  #text(text: string): void {
    for (let n = 0; n < text.length; n++) this.#word(text.charCodeAt(n))
    this.#word(text.length)
  }

  #word(word: number): void {
    this.#high = Math.imul(this.#high ^ word, 0x9e3779b1)
    this.#low = Math.imul(this.#low ^ word, 0x5f356495)
    this.#high = (this.#high << 13) | (this.#high >>> 19)
  }
}

function isPrimitive(
  value: unknown,
): value is string | number | bigint | boolean | symbol | undefined {
  return typeof value !== 'object' && typeof value !== 'function'
}

function mixed(word: number, other: number): number {
  const once = Math.imul(word ^ (word >>> 16), 0x85ebca6b)
  const twice = Math.imul(other ^ (other >>> 13), 0xc2b2ae35)
  return once ^ twice ^ (once >>> 15)
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
