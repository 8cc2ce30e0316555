import { AT_ONCE, LaterOpening, type Opening } from '../../core/cluster/opening'
import type { NodeSurroundings } from './gateway-node'
import type { PreparedGateway } from './roles/owned-gateway'

interface Openable {
  /** Does in advance what the first calls would otherwise wait for. */
  warm(): Promise<unknown>
  close(): Promise<void>
}

interface OpenerParts<G, S> {
  readonly compose: (surroundings: S, onLost: (reason: string) => void, opening: Opening) => Promise<G>
  readonly surroundingsOf: (node: NodeSurroundings) => S
  /** Called once the gateway owns its cell. */
  readonly owned: (gateway: G, surroundings: S) => G
}

/** Opens the gateways of a node: completely, or in two steps (ADR 62). */
export function openers<G extends Openable, S>({ compose, surroundingsOf, owned }: OpenerParts<G, S>) {
  return {
    async open(node: NodeSurroundings, onLost: (reason: string) => void): Promise<G> {
      const surroundings = surroundingsOf(node)
      return owned(await compose(surroundings, onLost, AT_ONCE), surroundings)
    },
    async prepare(node: NodeSurroundings, onLost: (reason: string) => void): Promise<PreparedGateway<G>> {
      const opening = new LaterOpening()
      const surroundings = surroundingsOf(node)
      const gateway = await compose(surroundings, onLost, opening)
      const orClosed = async (step: Promise<unknown>) => {
        try {
          await step
        } catch (error) {
          await gateway.close()
          throw error
        }
      }
      await orClosed(gateway.warm())
      return {
        async begin() {
          await orClosed(opening.begin())
          return owned(gateway, surroundings)
        },
        close: () => gateway.close(),
      }
    },
  }
}
