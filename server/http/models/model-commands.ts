import type { Actor } from '../../core/audit'
import { type Failure, failure } from '../../core/failure'
import type { ModelCatalogue } from '../../core/models/catalogue'
import type { ModelAdmin } from '../../core/models/model-admin'
import { err, ok, type Result } from '../../core/result'
import { wireModel } from './record'

export interface ModelCommandParts {
  readonly models: ModelCatalogue
  readonly modelAdmin: ModelAdmin
}

type Command = (body: Readonly<Record<string, unknown>>) => Promise<Result<unknown, Failure>>

/** Operator commands for models, over the control socket (`bun run gateway operator model ...`). */
export function modelCommands(
  { models, modelAdmin }: ModelCommandParts,
  actor: Actor,
): Readonly<Record<string, Command>> {
  return {
    models: async () => ok({ models: models.list().map(wireModel) }),
    'model-put': async ({ entry }) => {
      const model = await modelAdmin.put(actor, entry)
      return model.ok ? ok({ models: [wireModel(model.value)] }) : model
    },
    'model-price': async ({ id, price }) => {
      if (typeof price !== 'object' || price === null)
        return err(failure('invalid_parameter', 'price must be an object'))
      const model = await modelAdmin.setPrice(actor, String(id), { ...price })
      return model.ok ? ok({ models: [wireModel(model.value)] }) : model
    },
    'model-remove': ({ id }) => modelAdmin.remove(actor, String(id)),
  }
}
