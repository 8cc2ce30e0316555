import type { SignupBrakes } from '../../../core/accounts/signup-credit'
import { LibsqlApis } from './apis/api-store'
import { LibsqlClosings } from './apis/closings'
import { LibsqlSealedApis } from './apis/sealed-apis'
import { LibsqlCellDirectory } from './cluster/cell-directory'
import { LibsqlDirectory } from './directory'
import { LibsqlSignupCredits } from './ledger/signup-credits'
import { LibsqlModels } from './models'
import { LibsqlUserAddresses } from './notices/user-addresses'
import type { Database } from './open-database'
import { LibsqlReconciliations } from './operator/reconciliations'
import { LibsqlUnknownCheckouts } from './operator/unknown-checkouts'
import { LibsqlPrices } from './prices'

export interface ControlOptions {
  readonly signupBrakes: SignupBrakes
  readonly onTrouble: (what: string, reason: string) => void
}

export type ControlStores = Awaited<ReturnType<typeof openControlStores>>

/** The stores of what belongs to no account (ADR 45). They use no table of a cell. */
export async function openControlStores({ db }: Database, { signupBrakes, onTrouble }: ControlOptions) {
  const directory = new LibsqlDirectory(db)
  await directory.restore()
  const prices = new LibsqlPrices(db)
  await prices.restore()
  const models = new LibsqlModels(db)
  await models.restore(onTrouble)
  return {
    ...{ directory, prices, models },
    cells: new LibsqlCellDirectory(db),
    apis: new LibsqlApis(db),
    apiClosings: new LibsqlClosings(db),
    sealedApis: new LibsqlSealedApis(db),
    signupCredits: new LibsqlSignupCredits(db, signupBrakes),
    userAddresses: new LibsqlUserAddresses(db),
    reconciliations: new LibsqlReconciliations(db),
    unknownCheckouts: new LibsqlUnknownCheckouts(db),
  }
}
