//===- PluginFile.h - Libraries that are opened where they are needed -----===//
#ifndef SHARDC_RUNTIME_TRANSPORT_PLUGINFILE_H
#define SHARDC_RUNTIME_TRANSPORT_PLUGINFILE_H

#include <string>

namespace shardc::runtime {

/// As dlopen: where the runtime's libraries lie (LibraryFolders.h), or where the
/// linker looks. Null, and why not.
void *openPluginFile(const std::string &name, std::string &problem);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_PLUGINFILE_H
