import type { AppsEnd } from '../accounts/app-grants'
import type { UndecidedCharge } from '../ledger/ledger'
import type { CellName } from './cells'

/** What the gateway of one cell sends to that of another. Each message may arrive more than once. */
export type CellMessage =
  | { readonly kind: 'session_ended'; readonly userId: string }
  /** All apps lost their tokens. */
  | { readonly kind: 'apps_ended'; readonly userId: string; readonly address: string | null; readonly because: AppsEnd }
  /** An app revoked its last token. */
  | { readonly kind: 'app_left'; readonly userId: string; readonly clientId: string }
  /** For `main`: only `main` changes what is on sale. */
  | { readonly kind: 'api_off_sale'; readonly api: string; readonly operation: string | null; readonly by: string }
  /** For `main`, which printed the one-time token that makes an account the operator. */
  | { readonly kind: 'setup_token'; readonly token: string }
  /** For every cell: adds its missing records to the directory. Nodes of other versions know this name. */
  | { readonly kind: 'tell_directory' }
  /** For the next owner of the same cell: charges whose outcome an earlier owner could not determine, under its ownership `term`. */
  | { readonly kind: 'undecided_charges'; readonly term: number; readonly charges: readonly UndecidedCharge[] }

export interface CellMessages {
  /**
   * Resolves when the gateway of that cell has handled the message: to false if it refused it, such as a wrong `setup_token`. Rejects with
   * `CellSilent` if it did not answer.
   */
  send(cell: CellName, message: CellMessage): Promise<boolean>
}

/** The gateway of another cell did not answer: it is unknown whether it got the message. */
export class CellSilent extends Error {
  /** Read by core/unavailable.ts. */
  readonly unavailable = true
}
