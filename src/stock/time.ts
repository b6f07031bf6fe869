/**
 * When things took effect: ISO-8601 in, milliseconds since the epoch inside, ISO-8601 in UTC out.
 *
 * A time without an offset is UTC. What is finer than a millisecond is cut off. Days that a month does
 * not have are refused, not carried over. The years are 0001 to 9999, so that every time is one text of
 * the same length and texts sort like times.
 */

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d)?)?$/

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
/** 0001-01-01 and 10000-01-01. */
const FIRST_MS = -62_135_596_800_000
const END_MS = 253_402_300_800_000
/** Days from 0000-03-01 to 1970-01-01. */
const EPOCH_DAYS = 719_468
/** A cycle of the calendar: 400 years. */
const CYCLE_DAYS = 146_097

/** The time a text says; undefined if it is none. */
export function timeOf(value: unknown): number | undefined {
  const parts = typeof value === 'string' ? ISO.exec(value) : null
  if (parts === null) return undefined
  const year = number(parts[1])
  const month = number(parts[2])
  const day = number(parts[3])
  const hour = number(parts[4])
  const minute = number(parts[5])
  const second = number(parts[6])
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const offset = parts[8] === undefined ? 0 : offsetOf(parts[8], parts[9], parts[10])
  if (offset === undefined) return undefined
  const clock = (hour * 60 + minute) * MINUTE_MS + second * 1_000 + milliseconds(parts[7])
  const time = dayNumber(year, month, day) * DAY_MS + clock - offset
  return time >= FIRST_MS && time < END_MS ? time : undefined
}

/** A time that `timeOf` gave, or one of a clock, as a text. */
export function isoOf(time: number): string {
  const days = Math.floor(time / DAY_MS)
  const ms = time - days * DAY_MS
  const seconds = Math.floor(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  const clock = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}`
  return `${dateText(days)}T${clock}.${digits(ms % 1_000, 3)}Z`
}

/** What happens at the same time mostly happens on the same day. */
let latest = { days: NaN, text: '' }

function dateText(days: number): string {
  if (latest.days === days) return latest.text
  const [year, month, day] = dateOf(days)
  latest = { days, text: `${digits(year, 4)}-${two(month)}-${two(day)}` }
  return latest.text
}

function number(text: string | undefined): number {
  return text === undefined ? 0 : Number(text)
}

function milliseconds(fraction: string | undefined): number {
  if (fraction === undefined) return 0
  return Number(fraction.length === 3 ? fraction : fraction.padEnd(3, '0').slice(0, 3))
}

function offsetOf(
  sign: string,
  hoursText: string | undefined,
  minutesText: string | undefined,
): number | undefined {
  const hours = number(hoursText)
  const minutes = number(minutesText)
  if (hours > 23 || minutes > 59) return undefined
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS
}

function two(value: number): string {
  return value < 10 ? `0${value}` : `${value}`
}

function digits(value: number, length: number): string {
  return value.toString().padStart(length, '0')
}

function daysOf(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

// Years that begin in March end with the day that may be missing, and their months have 153 days in five.

/** Days since the epoch. */
function dayNumber(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1
  const cycle = Math.floor(y / 400)
  const yearOfCycle = y - cycle * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100)
  return cycle * CYCLE_DAYS + yearOfCycle * 365 + leapDays + dayOfYear - EPOCH_DAYS
}

function dateOf(days: number): readonly [year: number, month: number, day: number] {
  const sinceMarch = days + EPOCH_DAYS
  const cycle = Math.floor(sinceMarch / CYCLE_DAYS)
  const dayOfCycle = sinceMarch - cycle * CYCLE_DAYS
  const leapDays =
    Math.floor(dayOfCycle / 1_460) -
    Math.floor(dayOfCycle / 36_524) +
    Math.floor(dayOfCycle / 146_096)
  const yearOfCycle = Math.floor((dayOfCycle - leapDays) / 365)
  const dayOfYear =
    dayOfCycle - (yearOfCycle * 365 + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return [cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0), month, day]
}
