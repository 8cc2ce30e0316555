import type { SignupBrakes } from '../../../core/accounts/signup-credit'
import { ControlCopies } from '../../../core/cluster/control-copies'
import { LibsqlApis } from './apis/api-store'
import { LibsqlClosings } from './apis/closings'
import { LibsqlSealedApis } from './apis/sealed-apis'
import { LibsqlCellDirectory } from './cluster/cell-directory'
import { directoryRecords } from './cluster/directory-records'
import { LibsqlDirectory } from './directory'
import { LibsqlSignupCredits } from './ledger/signup-credits'
import { LibsqlModels } from './models'
import { LibsqlUserAddresses } from './notices/user-addresses'
import { LibsqlReconciliations } from './operator/reconciliations'
import { LibsqlUnknownCheckouts } from './operator/unknown-checkouts'
import { LibsqlPrices } from './prices'
import { controlVersion } from './schema/directory'
import type { ControlDatabase } from './shared-database'

export interface ControlOptions {
  readonly signupBrakes: SignupBrakes
  readonly onTrouble: (what: string, reason: string) => void
}

export type ControlStores = Awaited<ReturnType<typeof openControlStores>>

/** The stores of what belongs to no account (ADR 45). They use no table of a cell. */
export async function openControlStores({ db }: Pick<ControlDatabase, 'db'>, options: ControlOptions) {
  const { signupBrakes, onTrouble } = options
  const version = async () => (await db.select().from(controlVersion))[0]?.version ?? 0
  const known = await version()
  const directory = new LibsqlDirectory(db)
  const prices = new LibsqlPrices(db)
  const models = new LibsqlModels(db)
  const inMemory = [directory, prices, { read: () => models.read(onTrouble) }]
  for (const copy of inMemory) (await copy.read())()
  const copies = new ControlCopies(version, known)
  copies.add(...inMemory)
  return {
    ...{ directory, prices, models },
    /** What is in memory of all this, and of what callers add. */
    copies,
    cells: new LibsqlCellDirectory(db),
    directoryRecords: directoryRecords(db),
    apis: new LibsqlApis(db),
    apiClosings: new LibsqlClosings(db),
    sealedApis: new LibsqlSealedApis(db),
    signupCredits: new LibsqlSignupCredits(db, signupBrakes),
    userAddresses: new LibsqlUserAddresses(db),
    reconciliations: new LibsqlReconciliations(db),
    unknownCheckouts: new LibsqlUnknownCheckouts(db),
  }
}
