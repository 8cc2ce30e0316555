import type { Static, TObject } from '@sinclair/typebox'
import { accepted } from '../../core/accounts/submitted'
import type { Failure } from '../../core/failure'
import type { Result } from '../../core/result'
import { validateBody } from '../middleware/input/validate-body'

/** Runs a command with a body that is not validated yet. */
export type SocketCommand = (body: unknown) => Promise<Result<unknown, Failure>>

/** A command of the control socket, which validates the body with its schema first. A missing body counts as empty. */
export function socketCommand<T extends TObject>(
  schema: T,
  run: (form: Static<T>) => Promise<Result<unknown, Failure>>,
): SocketCommand {
  return async (body) => {
    const form = accepted(validateBody(schema, body === undefined ? {} : body))
    return form.ok ? run(form.value) : form
  }
}
