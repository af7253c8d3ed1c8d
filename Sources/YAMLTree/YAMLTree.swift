// The room YAMLTree.
