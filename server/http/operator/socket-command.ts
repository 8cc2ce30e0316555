import type { Static, TObject } from '@sinclair/typebox'
import { accepted } from '../../core/accounts/submitted'
import type { Failure } from '../../core/failure'
import type { Result } from '../../core/result'
import { judgeBody } from '../middleware/judge-body'

/** Runs a command with a body that nobody has judged yet. */
export type SocketCommand = (body: unknown) => Promise<Result<unknown, Failure>>

/** A command of the control socket, whose body its schema judges first; no body is an empty one. */
export function socketCommand<T extends TObject>(
  schema: T,
  run: (form: Static<T>) => Promise<Result<unknown, Failure>>,
): SocketCommand {
  return async (body) => {
    const form = accepted(judgeBody(schema, body === undefined ? {} : body))
    return form.ok ? run(form.value) : form
  }
}
