import type { Actor } from '../../core/audit'
import type { Model } from '../../core/models/model'
import type { ModelAdmin } from '../../core/models/model-admin'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { ok } from '../../core/result'
import { wireModel } from '../models/record'
import { NoBody, type OperatorModels, PriceModelCommand, PutModelCommand, RemoveModelCommand } from './record'
import { type SocketCommand, socketCommand } from './socket-command'

export interface ModelCommandParts {
  readonly models: ModelCatalog
  readonly modelAdmin: ModelAdmin
}

/** Operator commands for models, over the control socket (`bun run gateway operator model ...`). */
export function modelCommands(
  { models, modelAdmin }: ModelCommandParts,
  actor: Actor,
): Readonly<Record<string, SocketCommand>> {
  const listed = (some: readonly Model[]): OperatorModels => ({ models: some.map(wireModel) })
  return {
    models: socketCommand(NoBody, async () => ok(listed(models.list()))),
    'model-put': socketCommand(PutModelCommand, async ({ entry }) => {
      const model = await modelAdmin.put(actor, entry)
      return model.ok ? ok(listed([model.value])) : model
    }),
    'model-price': socketCommand(PriceModelCommand, async ({ id, price }) => {
      const model = await modelAdmin.setPrice(actor, id, price)
      return model.ok ? ok(listed([model.value])) : model
    }),
    'model-remove': socketCommand(RemoveModelCommand, ({ id }) => modelAdmin.remove(actor, id)),
  }
}
