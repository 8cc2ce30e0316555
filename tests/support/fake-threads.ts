import { RULES_NOT_BUILT } from '../../server/adapters/websearch/goggles/build-allowance'
import type { IndexThread, StartThread, ThreadEvents } from '../../server/adapters/websearch/local/index-thread'
import type { IndexQuestion } from '../../server/adapters/websearch/local/query/question'
import { err, ok } from '../../server/core/result'

/** A thread of searches that does what a test says, when it says so. It holds its user to one question at a time. */
export class FakeThread implements IndexThread {
  state: 'opening' | 'open' | 'gone' = 'opening'
  /** The searches of the question that it works on. */
  working: string | null = null
  readonly #events: ThreadEvents
  readonly #onAsked: (q: string) => void

  constructor(events: ThreadEvents, onAsked: (q: string) => void) {
    this.#events = events
    this.#onAsked = onAsked
  }

  ask(question: IndexQuestion): void {
    if (this.state !== 'open' || this.working !== null) throw new Error(`asked while ${this.state}, ${this.working}`)
    this.working = question.kind === 'ready' ? 'ready' : question.input.q
    this.#onAsked(this.working)
  }

  async close(): Promise<void> {
    if (this.state === 'gone') throw new Error('closed twice, or when it was gone')
    this.state = 'gone'
  }

  open(): void {
    this.state = 'open'
    this.#events.opened()
  }

  /** Answers with what was searched for. */
  answer(): void {
    const body = JSON.stringify(this.working)
    this.working = null
    this.#events.answered(ok({ body }))
  }

  /** Has built a slice of the goggles of what it was asked, and not all. */
  leaveUnbuilt(): void {
    this.working = null
    this.#events.answered(RULES_NOT_BUILT)
  }

  /** Finds what it was asked to be wrong. */
  fail(): void {
    this.working = null
    this.#events.answered(err({ kind: 'unavailable', reason: 'broken' }))
  }

  die(): void {
    this.state = 'gone'
    this.working = null
    this.#events.lost('killed')
  }
}

/** Threads that a test controls. */
export class FakeThreads {
  readonly all: FakeThread[] = []
  /** The requests to threads, in order. */
  readonly asked: string[] = []
  onStart: () => void = () => undefined
  onAsked: (q: string) => void = () => undefined

  readonly start: StartThread = (events) => {
    this.onStart()
    const thread = new FakeThread(events, (q) => {
      this.asked.push(q)
      this.onAsked(q)
    })
    this.all.push(thread)
    return thread
  }

  get alive(): FakeThread[] {
    return this.all.filter(({ state }) => state !== 'gone')
  }
}

/** A search for `q`, of which a thread that is a fake looks at nothing else. */
export function searchFor(q: string): IndexQuestion {
  const region = { country: 'ALL', language: 'en' }
  return {
    kind: 'images',
    baseUrl: 'http://localhost',
    input: { q, count: 1, spellcheck: false, region, maxAdult: 2 },
  }
}
