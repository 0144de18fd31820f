# cmake -DINPUT=FILE -DOUTPUT=FILE -DHEADER=INCLUDE -DNAMESPACE=A::B -DNAME=N -P embed_text.cmake: writes a text file as the
# C++ constant N, which the header declares.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\nconst std::string_view ${NAME} = R\"text(${text})text\";\n\n}  // namespace ${NAMESPACE}\n")
