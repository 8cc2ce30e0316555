/** What the gateway of one cell keeps in memory of the control database. */
export interface Refreshable {
  /** Reads what changed. Rejects while the database does not answer. */
  refresh(): Promise<void>
}

/** Tells the gateways of all cells that models, prices, imported APIs, closings or roles changed (ADR 52). */
export interface ControlChanges {
  /** Resolves when no gateway serves with older copies: each has read them again, or may not serve any more. Never rejects. */
  changed(): Promise<void>
  /** The same after a write that failed: it may have been committed nevertheless. */
  doubted(): Promise<void>
  /** `copies` are refreshed from now on with every change. Returns how to leave. */
  join(copies: Refreshable): () => void
}

/** With one cell there is nobody to tell. */
export const NO_OTHER_COPIES: ControlChanges = {
  changed: async () => undefined,
  doubted: async () => undefined,
  join: () => () => undefined,
}

const RETRY_MS = 250

/** The gateways of the cells in this process. */
export class ChangesHere implements ControlChanges {
  private readonly joined = new Set<Refreshable>()
  private readonly elsewhere: () => Promise<void>
  private readonly pause: (ms: number) => Promise<void>

  /** `elsewhere` tells all other nodes, as `changed` does. */
  constructor(
    elsewhere: () => Promise<void> = async () => undefined,
    pause: (ms: number) => Promise<void> = Bun.sleep,
  ) {
    this.elsewhere = elsewhere
    this.pause = pause
  }

  async changed(): Promise<void> {
    await Promise.all([this.changedHere(), this.elsewhere()])
  }

  doubted(): Promise<void> {
    return this.changed()
  }

  /** What another node asks: as `changed`, for the gateways of this process. */
  async changedHere(): Promise<void> {
    await Promise.all([...this.joined].map((copies) => this.refreshed(copies)))
  }

  join(copies: Refreshable): () => void {
    this.joined.add(copies)
    return () => this.joined.delete(copies)
  }

  /** Tries until it succeeds or the gateway ends: one that cannot read the control database loses its lease. */
  private async refreshed(copies: Refreshable): Promise<void> {
    while (this.joined.has(copies)) {
      const isDone = await copies.refresh().then(
        () => true,
        () => false,
      )
      if (isDone) return
      await this.pause(RETRY_MS)
    }
  }
}

/** With one cell its gateway knows what it changed. Only what a failed write may have changed is read again, and nobody waits for that. */
export class OnlyCopies extends ChangesHere {
  override async changed(): Promise<void> {}

  override async doubted(): Promise<void> {
    void this.changedHere()
  }
}
