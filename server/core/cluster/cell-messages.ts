import type { AppsEnd } from '../accounts/app-grants'
import type { UndecidedCharge } from '../ledger/ledger'
import type { CellName } from './cells'

/** What happened in one cell's gateway and concerns another's. Each may arrive more than once. */
export type CellMessage =
  | { readonly kind: 'session_ended'; readonly userId: string }
  /** The tokens of all apps are gone. */
  | { readonly kind: 'apps_ended'; readonly userId: string; readonly address: string | null; readonly because: AppsEnd }
  /** An app gave its last token back. */
  | { readonly kind: 'app_left'; readonly userId: string; readonly clientId: string }
  /** For `main`, which alone changes what is on sale. */
  | { readonly kind: 'api_off_sale'; readonly api: string; readonly operation: string | null; readonly by: string }
  /** For `main`, which printed the one-time token that makes an operator. */
  | { readonly kind: 'setup_token'; readonly token: string }
  /** For every cell: it adds to the directory what that lacks of it. */
  | { readonly kind: 'tell_directory' }
  /** For the next owner of the same cell: what an earlier one left undecided under the ownership `term`. */
  | { readonly kind: 'undecided_charges'; readonly term: number; readonly charges: readonly UndecidedCharge[] }

export interface CellMessages {
  /**
   * Resolves when the gateway of that cell did what it means: to true, or to false for a wrong `setup_token`. Rejects with `CellSilent` if
   * it did not answer.
   */
  tell(cell: CellName, message: CellMessage): Promise<boolean>
}

/** Nobody knows whether the gateway of another cell got a message. */
export class CellSilent extends Error {
  /** Read by core/unavailable.ts. */
  readonly unavailable = true
}
