/**
 * The port to where secrets are kept.
 *
 * A secret is a handle: it shows as `[secret]` wherever it is printed, and its value is asked for at
 * the last moment, by name. Whatever was resolved is known to the mask of its test from then on.
 */
import type { Fault } from '../../std/index.ts'

export type SecretFaultCode =
  | 'secret-not-found'
  | 'secret-denied'
  | 'secrets-unavailable'
  | 'bad-secret'

/** Carried by an `Accident`; `detail.isTransient` says whether trying again may help. */
export type SecretFault = Fault<SecretFaultCode>

export interface Secret {
  readonly name: string
  reveal(): string
  toString(): string
  toJSON(): string
}

export interface SecretSource {
  /** A secret has fields, such as `username` and `password`; a plain one has the field `value`. */
  resolve(name: string, options: ResolveOptions): Promise<ReadonlyMap<string, Secret>>
}

export type ResolveOptions = Readonly<{ signal: AbortSignal }>

/** Replaces every known value, and its usual encodings, in whatever leaves a test. */
export interface Mask {
  add(value: string): void
  text(text: string): string
}

/** That of a test, whose steps print in pieces. */
export interface LiveMask extends Mask {
  stream(): MaskedStream
}

export interface MaskedStream {
  /** What can be shown by now: never a part of a value. */
  push(piece: string): string
  /** The rest; the stream has ended. */
  end(): string
}
