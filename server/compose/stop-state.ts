import type { LiveEvents } from '../core/events/live-events'

/** How far a stop is. */
export class StopState {
  private readonly events: LiveEvents
  private state: 'serving' | 'announced' | 'draining' = 'serving'

  constructor(events: LiveEvents) {
    this.events = events
  }

  readonly isAnnounced = () => this.state !== 'serving'

  readonly isDraining = () => this.state === 'draining'

  /** From here on `/ready` says `draining`, so that load balancers choose another server. Calls are served as before. */
  announce(): void {
    if (this.state === 'serving') this.state = 'announced'
  }

  /** The announced stop does not take place. */
  takeBack(): void {
    if (this.state === 'announced') this.state = 'serving'
  }

  /** From here on every new request gets a 503. */
  drain(): void {
    this.state = 'draining'
    this.events.end()
  }
}
