/** What is to happen when: virtual time, a list, the earliest first and equals in the order they were set. */
export type Appointment = {
  readonly due: number
  readonly order: number
  readonly keep: () => void
}

export class Agenda {
  now = 0
  #until = 0
  #order = 0
  #appointments: Appointment[] = []

  book(ms: number, keep: () => void): Appointment {
    const appointment = { due: this.now + ms, order: this.#order++, keep }
    this.#appointments.push(appointment)
    return appointment
  }

  cancel(appointment: Appointment): void {
    this.#appointments = this.#appointments.filter((each) => each !== appointment)
  }

  advance(ms: number): void {
    this.#until = this.now + ms
  }

  /** Keeps what is due by now, unless something `holds` it up; it goes on when called again. */
  catchUp(holds: () => boolean): void {
    while (!holds()) {
      const next = this.#next()
      if (next === undefined || next.due > this.#until) {
        this.now = this.#until
        return
      }
      this.now = Math.max(this.now, next.due)
      this.cancel(next)
      next.keep()
    }
  }

  #next(): Appointment | undefined {
    let first: Appointment | undefined
    for (const each of this.#appointments) {
      if (first === undefined || each.due < first.due) first = each
      else if (each.due === first.due && each.order < first.order) first = each
    }
    return first
  }
}
