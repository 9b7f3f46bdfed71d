// @ts-check
// Loads the plugin that was generated for a project. This file is copied into each project.
const path = require('node:path')
const { pathToFileURL } = require('node:url')

/** @param {string} format @returns {Promise<any>} */
async function loadGenerated(format) {
  const file = path.join(__dirname, `plugin.${format}`)
  return format === 'cjs' ? require(file) : import(pathToFileURL(file).href)
}

module.exports = { loadGenerated }
