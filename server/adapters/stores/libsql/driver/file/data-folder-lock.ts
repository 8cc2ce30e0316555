import { FileHeld, holdFile } from './held-file'

/** Another process holds the folder. */
export class DataFolderInUse extends Error {}

/** Holds a data folder for the life of this process. */
export async function lockDataFolder(folder: string): Promise<{ release(): void }> {
  try {
    return await holdFile(`${folder}/lock`)
  } catch (error) {
    if (!(error instanceof FileHeld)) throw error
    throw new DataFolderInUse(
      `${folder} is in use by another gateway; stop it first, or set DATA_DIR to another folder`,
    )
  }
}
