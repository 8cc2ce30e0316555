/** The copies of the control database that the gateway of one cell keeps in memory. */
export interface Refreshable {
  /** Reads the changes. Rejects while the database does not answer. */
  refresh(): Promise<void>
}

/** Announces changes of models, prices, imported APIs, closings or roles to the gateways of all cells (ADR 52). */
export interface ControlChanges {
  /** Resolves when no gateway serves with older copies: each has reloaded them or may no longer serve. Never rejects. */
  changed(): Promise<void>
  /** The same after a write that failed: it may have been committed nevertheless. */
  doubted(): Promise<void>
  /** From now on, refreshes `copies` with every change. Returns a function that ends this. */
  join(copies: Refreshable): () => void
}

/** With one cell there are no other gateways. */
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

  /** `elsewhere` notifies all other nodes, as `changed` does. */
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

  /** Like `changed`, for the gateways of this process only. Called when another node announces a change. */
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
